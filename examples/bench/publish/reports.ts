/** The reports that this project publishes, with the flags of each measurement. */

/**
 * The flags of each report, and further flags for a short form. All reports together must end within 56 minutes, so
 * the suites then use the short form; a single suite takes up to 22 minutes.
 */
export const REPORTS = {
  peers: { flags: ['--full'], brief: [] },
  http: {
    flags: ['--suite=http', '--full'],
    brief: ['--runs=1', '--duration=1', '--warmup=0.5', '--within=9.5']
  },
  pairs: {
    flags: ['--suite=pairs', '--full'],
    brief: ['--workloads=health,compressed,router', '--runs=2', '--duration=1', '--warmup=1', '--within=2.2']
  },
  db: {
    flags: ['--suite=db', '--full'],
    brief: ['--workloads=slow', '--concurrency=100,2000', '--within=5']
  },
  scale: { flags: ['--suite=scale', '--full'], brief: ['--runs=1', '--duration=2', '--within=0.6'] }
} as const satisfies Readonly<Record<string, { flags: readonly string[]; brief: readonly string[] }>>

export type Report = keyof typeof REPORTS
export const reportNames = Object.keys(REPORTS) as Report[]
