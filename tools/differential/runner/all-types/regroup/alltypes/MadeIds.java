package regroup.alltypes;

import regroup.harness.MemberIds;

import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.matcher.ElementMatchers;

import org.apache.kafka.common.Uuid;

import java.nio.ByteBuffer;
import java.util.Base64;

/** Ids in place of those of `Uuid.randomUuid`: the n-th of a scenario ends in n. */
public final class MadeIds {
    private static final long FIRST_HALF = 0x6f7261636c654000L;
    private static final long SECOND_HALF = 0xA000000000000000L;

    private static long made;

    private MadeIds() { }

    public static void install() throws ClassNotFoundException {
        Class.forName("org.apache.kafka.common.Uuid");
        new AgentBuilder.Default()
            .disableClassFormatChanges()
            .with(AgentBuilder.RedefinitionStrategy.RETRANSFORMATION)
            .type(ElementMatchers.named("org.apache.kafka.common.Uuid"))
            .transform((builder, type, loader, module, domain) -> builder
                .visit(Advice.to(OnRandomUuid.class).on(ElementMatchers.named("randomUuid"))))
            .installOn(ByteBuddyAgent.install());
    }

    static void startOver() {
        made = 0;
    }

    /** In the 22 characters of Kafka's own notation. */
    public static String next() {
        byte[] bytes = ByteBuffer.allocate(16).putLong(FIRST_HALF).putLong(SECOND_HALF + ++made).array();
        String id = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
        MemberIds.made().add(id);
        return id;
    }

    public static class OnRandomUuid {
        @Advice.OnMethodExit
        public static void exit(@Advice.Return(readOnly = false) Uuid id) {
            id = Uuid.fromString(MadeIds.next());
        }
    }
}
