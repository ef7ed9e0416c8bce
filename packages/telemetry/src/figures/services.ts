/** The services of this process that tell what they do: asked only when somebody wants to know. */
import type { TransportStats, WatchedService } from '@elysia-microservices/transport'

/** Weak, so that a service that is thrown away is not kept. */
const services = new Set<WeakRef<WatchedService>>()

/** Takes the service's figures into those of the process. */
export function watchService(service: WatchedService): void {
  for (const known of services) if (known.deref() === service) return
  services.add(new WeakRef(service))
}

/** The current figures of all transports of all services. */
export function transportStats(): TransportStats[] {
  const all: TransportStats[] = []
  for (const known of services) {
    const service = known.deref()
    if (service === undefined) services.delete(known)
    else all.push(...service.stats())
  }
  return all
}
