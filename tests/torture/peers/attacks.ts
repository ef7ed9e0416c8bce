/** Runs the same attack against each server, over each protocol. */
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

/** Returns a row for each attack. In the short form, all run at the same time, because they mostly wait for limits. */
export async function onEachServer(attack: Attack, circumstances: Circumstances): Promise<readonly Row[]> {
  if (circumstances.length === 'short')
    return Promise.all(TARGETS.map(([server, protocol]) => attack(server, protocol, circumstances)))
  const rows: Row[] = []
  for (const [server, protocol] of TARGETS) rows.push(await attack(server, protocol, circumstances))
  return rows
}
