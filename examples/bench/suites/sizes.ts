import { installedSize } from '../install/size.ts'
import type { Installation } from '../report/schema.ts'
import { suites } from './catalog.ts'
import type { SuiteComparison } from './options.ts'

/** The installations of the users of each target; an installation with several names is listed once. */
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
