import java.lang.reflect.Field;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * What a release of Kafka has, one per line: {@code default NAME VALUE} of the settings of group coordinators,
 * {@code api ID VERSION} and {@code feature NAME LEVEL} with the highest version or level
 * that its brokers or controllers offer.
 */
public class Release {
    public static void main(String[] arguments) throws IllegalAccessException {
        Map<String, String> defaults = new TreeMap<>();
        for (Field field : GroupCoordinatorConfig.class.getDeclaredFields()) {
            if (field.getType() == ConfigDef.class) {
                field.setAccessible(true);
                for (ConfigDef.ConfigKey key : ((ConfigDef) field.get(null)).configKeys().values()) {
                    defaults.put(key.name, key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : "");
                }
            }
        }
        defaults.forEach((name, value) -> System.out.println("default " + name + " " + value));
        for (ApiKeys api : ApiKeys.values()) {
            api.toApiVersion(false).ifPresent(offered -> System.out.println("api " + api.id + " " + offered.maxVersion()));
        }
        System.out.println("feature metadata.version " + MetadataVersion.LATEST_PRODUCTION.featureLevel());
        for (Feature feature : Feature.PRODUCTION_FEATURES) {
            System.out.println("feature " + feature.featureName() + " " + feature.latestProduction());
        }
    }
}
