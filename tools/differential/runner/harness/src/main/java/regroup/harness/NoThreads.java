package regroup.harness;

import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.TimeUnit;

/** An executor without threads: nothing of it runs once its caller has stopped. */
public abstract class NoThreads extends AbstractExecutorService {
    @Override
    public final void shutdown() { }

    @Override
    public final List<Runnable> shutdownNow() {
        return List.of();
    }

    @Override
    public final boolean isShutdown() {
        return false;
    }

    @Override
    public final boolean isTerminated() {
        return true;
    }

    @Override
    public final boolean awaitTermination(long timeout, TimeUnit unit) {
        return true;
    }
}
