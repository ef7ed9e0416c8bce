/** What a peer cannot do, in words. A measurement is refused because of it, a comparison says it in its table. */
import { type ClientName, clients, type TargetName } from '../peers/targets.ts'

/** Why this client cannot load this target over so many connections; `undefined` if it can. */
export function obstacleTo(target: TargetName, client: ClientName, connections: number): string | undefined {
  const { asks, limit } = clients[client]
  if (!asks.includes(target)) return `the ${client} client does not speak its protocol`
  if (limit !== undefined && connections > limit.connections) {
    return `the ${client} client makes at most ${limit.connections} connections: ${limit.why}`
  }
  return undefined
}
