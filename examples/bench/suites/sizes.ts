import { installedSize } from '../install/size.ts'
import type { Installation } from '../report/schema.ts'
import { suites } from './catalog.ts'
import type { SuiteComparison } from './options.ts'

/** The installations of each target's users; one that has several names is there once. */
export async function sizesOf({ suite, targets }: SuiteComparison): Promise<Installation[]> {
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
