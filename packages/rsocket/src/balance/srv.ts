/** Turns SRV records into endpoints with priority and weight. RFC 2782. */
import type { Address } from './address.ts'

/** An SRV record, as `node:dns` returns it. */
export interface SrvRecord {
  /** The target: a host. */
  readonly name: string
  readonly port: number
  readonly priority: number
  readonly weight: number
}

/**
 * Weight of a record with weight 0 among records with larger weights, as a share of the smallest of these: "records
 * with weight 0 should have a very small chance of being selected".
 */
const UNLIKELY = 0.01

/**
 * Returns the endpoints of SRV records, sorted by priority.
 * @throws {Error} the records say that the service is not offered
 */
export function srvAddresses(records: readonly SrvRecord[]): readonly Address[] {
  // "A Target of "." means that the service is decidedly not available at this domain."
  const targets = records.filter(({ name }) => name !== '' && name !== '.')
  if (targets.length === 0 && records.length > 0)
    throw new Error("the service is not offered: the target of its SRV record is '.'")
  return targets
    .toSorted((one, other) => one.priority - other.priority)
    .map(({ name: host, port, priority, weight }) => ({
      host,
      port,
      priority,
      weight: weight > 0 ? weight : weightOfZero(targets, priority)
    }))
}

/** The weight that replaces 0: equal for all if all weights of the priority are 0, else very small. */
function weightOfZero(records: readonly SrvRecord[], priority: number): number {
  const weights = records.filter((other) => other.priority === priority && other.weight > 0)
  if (weights.length === 0) return 1
  return UNLIKELY * Math.min(...weights.map(({ weight }) => weight))
}
