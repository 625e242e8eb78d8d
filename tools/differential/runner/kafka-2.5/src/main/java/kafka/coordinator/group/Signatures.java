package kafka.coordinator.group;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

/** Calls of methods that lost or gained a parameter between Kafka 2.5 and 2.8. */
final class Signatures {
    private Signatures() { }

    /** Calls the overload that takes most of the arguments, in their order. */
    static Object call(Object target, String name, Object... arguments) {
        Method longest = null;
        for (Method method : target.getClass().getMethods()) {
            if (!method.getName().equals(name) || taken(method.getParameterTypes(), arguments) == null) continue;
            if (longest == null || method.getParameterCount() > longest.getParameterCount()) longest = method;
        }
        if (longest == null) throw new IllegalStateException("no method " + name + " takes these arguments");
        try {
            return longest.invoke(target, taken(longest.getParameterTypes(), arguments).toArray());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static List<Object> taken(Class<?>[] parameters, Object[] arguments) {
        List<Object> taken = new ArrayList<>();
        int next = 0;
        for (Class<?> parameter : parameters) {
            while (next < arguments.length && !takes(parameter, arguments[next])) next++;
            if (next == arguments.length) return null;
            taken.add(arguments[next++]);
        }
        return taken;
    }

    private static boolean takes(Class<?> parameter, Object argument) {
        return parameter.isInstance(argument) || (parameter == boolean.class && argument instanceof Boolean);
    }
}
