/** A suite from its options to its comparison: what it needs is there first, and gone after. */
import { compare } from '../compare.ts'
import { installedSize } from '../install/size.ts'
import type { BenchProcess } from '../process/bench-process.ts'
import { planPinning } from '../process/pinning.ts'
import type { Comparison, Installation } from '../report/schema.ts'
import { suites } from './catalog.ts'
import type { SuiteComparison } from './comparison-options.ts'
import { startDatabase } from './db/database.ts'
import { suitePlan } from './plan.ts'

/**
 * @param keep is told after every measurement what there is so far
 * @throws BenchError if there is no database for those that need one
 */
export async function compareSuite(
  options: SuiteComparison,
  command: string,
  bench: BenchProcess,
  keep: (soFar: Comparison) => Promise<unknown>
): Promise<Comparison> {
  const plan = suitePlan(options)
  const sizes = options.full ? { sizes: await sizesOf(options) } : {}
  const keepAll = (soFar: Comparison) => keep({ ...soFar, ...sizes })
  if (options.suite !== 'db') return { ...(await compare(plan, command, bench, keepAll)), ...sizes }
  // One for all measurements, where the load is: servers have their CPU for themselves.
  const { address, server } = await startDatabase(planPinning().client)
  try {
    const shared = { ...plan, suite: { ...plan.suite!, database: address } }
    return { ...(await compare(shared, command, bench, keepAll)), ...sizes }
  } finally {
    await server.stop()
  }
}

/** What users of each target install; those that are one installation under several names are there once. */
async function sizesOf({ suite, targets }: SuiteComparison): Promise<Installation[]> {
  const all: Installation[] = []
  const seen = new Set<string>()
  for (const name of targets) {
    const { packages } = suites[suite].targets[name]!
    const key = packages.join(' ')
    if (packages.length === 0 || seen.has(key)) continue
    seen.add(key)
    all.push({ target: name, ...(await installedSize(packages)) })
  }
  return all
}
