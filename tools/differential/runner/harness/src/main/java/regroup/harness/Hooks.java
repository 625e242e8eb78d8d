package regroup.harness;

import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.matcher.ElementMatchers;

import java.util.LinkedHashSet;
import java.util.Set;

/** Advice on the coordinator's group class: our member ids, and a call for every transition. */
public final class Hooks {
    static final Set<String> MOVED_GROUPS = new LinkedHashSet<>();

    private Hooks() { }

    /** May be called before or after the class is loaded; its fields are groupId and state in every version. */
    public static void install(String groupClass) {
        new AgentBuilder.Default()
            .disableClassFormatChanges()
            .with(AgentBuilder.RedefinitionStrategy.RETRANSFORMATION)
            .type(ElementMatchers.named(groupClass))
            .transform((builder, type, loader, module, domain) -> builder
                .visit(Advice.to(OnGenerateMemberId.class).on(ElementMatchers.named("generateMemberId")))
                .visit(Advice.to(OnTransitionTo.class).on(ElementMatchers.named("transitionTo"))))
            .installOn(ByteBuddyAgent.install());
    }

    public static void moved(String group, Object from, Object to) {
        MOVED_GROUPS.add(group);
        if (Tally.isOn()) Tally.count("transitions", from + " -> " + to);
    }

    public static class OnGenerateMemberId {
        @Advice.OnMethodExit
        public static void exit(@Advice.FieldValue("groupId") String group, @Advice.Return(readOnly = false) String id) {
            id = MemberIds.instead(group, id);
        }
    }

    public static class OnTransitionTo {
        @Advice.OnMethodEnter
        public static void enter(@Advice.FieldValue("groupId") String group, @Advice.FieldValue("state") Object from,
                                 @Advice.Argument(0) Object to) {
            moved(group, from, to);
        }
    }
}
