/** The same attack on each server, by each protocol it speaks. */
import type { Circumstances, Row } from '../scenario.ts'

/** An attack on one server. */
export type Attack = (
  server: 'ours' | 'nest',
  protocol: 'rsocket' | 'nest',
  circumstances: Circumstances
) => Promise<Row>

const TARGETS = [
  ['ours', 'rsocket'],
  ['ours', 'nest'],
  ['nest', 'nest']
] as const

/** A row for each. The short form mostly waits for limits, so there it is all at the same time. */
export async function onEachServer(attack: Attack, circumstances: Circumstances): Promise<readonly Row[]> {
  if (circumstances.length === 'short')
    return Promise.all(TARGETS.map(([server, protocol]) => attack(server, protocol, circumstances)))
  const rows: Row[] = []
  for (const [server, protocol] of TARGETS) rows.push(await attack(server, protocol, circumstances))
  return rows
}
