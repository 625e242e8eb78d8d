package regroup.yarn;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * Runs HDFS and YARN with two nodes in one process on loopback, until standard input ends.
 *
 * <p>Arguments: a folder for the clusters' files, and a folder that gets core-site.xml and
 * yarn-site.xml for clients.  Prints "ready" and the file system's address.
 */
public final class Main {
  private static final String LOOPBACK = "127.0.0.1";
  private static final int NODES = 2;

  public static void main(String[] args) {
    try {
      run(new File(args[0]), new File(args[1]));
      System.exit(0);
    } catch (Throwable e) {  // the clusters' threads would keep the process
      e.printStackTrace();
      System.exit(1);
    }
  }

  private static void run(File work, File conf) throws Exception {
    YarnConfiguration settings = settings(work);
    MiniDFSCluster hdfs =
        new MiniDFSCluster.Builder(settings, new File(work, "hdfs")).numDataNodes(1).build();
    MiniYARNCluster yarn = new MiniYARNCluster("regroup", NODES, 1, 1);
    yarn.init(settings);
    yarn.start();
    write(yarn.getConfig(), hdfs.getURI().toString(), conf);
    System.out.println("ready " + hdfs.getURI());
    while (System.in.read() >= 0) {}
    yarn.stop();
    hdfs.shutdown();
  }

  private static YarnConfiguration settings(File work) {
    YarnConfiguration settings = new YarnConfiguration();
    settings.set("hadoop.tmp.dir", new File(work, "tmp").getAbsolutePath());
    settings.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(work, "hdfs").getAbsolutePath());
    settings.set("dfs.replication", "1");
    settings.set(YarnConfiguration.RM_BIND_HOST, LOOPBACK);
    settings.set(YarnConfiguration.NM_BIND_HOST, LOOPBACK);
    settings.setBoolean(YarnConfiguration.YARN_MINICLUSTER_FIXED_PORTS, false);
    settings.setInt(YarnConfiguration.YARN_MINICLUSTER_NM_PMEM_MB, 4096);
    settings.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 256);
    settings.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_MB, 4096);
    // An application master may take more than the default tenth of the queue.
    settings.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0");
    settings.set("yarn.scheduler.capacity.root.queues", "default");
    settings.set("yarn.scheduler.capacity.root.default.capacity", "100");
    // A full disk of the machine must not make the nodes unhealthy.
    settings.setBoolean(YarnConfiguration.NM_DISK_HEALTH_CHECK_ENABLE, false);
    settings.setBoolean(YarnConfiguration.NM_VMEM_CHECK_ENABLED, false);
    settings.setBoolean(YarnConfiguration.NM_PMEM_CHECK_ENABLED, false);
    return settings;
  }

  /** Writes what a client needs; the clusters' other settings name classes of their tests. */
  private static void write(Configuration settings, String fileSystem, File conf)
      throws IOException {
    Configuration client = new Configuration(false);
    client.set(FileSystem.FS_DEFAULT_NAME_KEY, fileSystem);
    client.set("dfs.replication", "1");
    for (String name :
        new String[] {YarnConfiguration.RM_ADDRESS, YarnConfiguration.RM_SCHEDULER_ADDRESS}) {
      client.set(name, settings.get(name));
    }
    for (String name : new String[] {"core-site.xml", "yarn-site.xml"}) {
      try (OutputStream out = new FileOutputStream(new File(conf, name))) {
        client.writeXml(out);
      }
    }
  }
}
