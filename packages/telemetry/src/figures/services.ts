/**
 * The services of this process that report the state of their transports. They are asked only when somebody reads
 * the figures.
 */
import type { TransportStats, WatchedService } from '@elysia-microservices/transport'

/** Weak references, so that a service which is no longer used can be garbage-collected. */
const services = new Set<WeakRef<WatchedService>>()

/** Includes the service's figures in those of the process. */
export function watchService(service: WatchedService): void {
  for (const known of services) if (known.deref() === service) return
  services.add(new WeakRef(service))
}

/** The current figures of all transports of all services. */
export function transportStats(): TransportStats[] {
  // A set, because services that share a server share its figures, too.
  const all = new Set<TransportStats>()
  for (const known of services) {
    const service = known.deref()
    if (service === undefined) services.delete(known)
    else for (const stats of service.stats()) all.add(stats)
  }
  return [...all]
}
