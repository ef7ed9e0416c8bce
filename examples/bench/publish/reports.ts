/** The reports that this project publishes, and how each is measured. */

/**
 * The flags of each, and those that make it brief. All together end within 45 minutes, so there the suites are brief;
 * alone each takes what it needs, 15 minutes at most.
 */
export const REPORTS = {
  peers: { flags: ['--full'], brief: [] },
  http: {
    flags: ['--suite=http', '--full'],
    brief: ['--runs=1', '--duration=0.8', '--warmup=0.5', '--within=5.6']
  },
  pairs: {
    flags: ['--suite=pairs', '--full'],
    brief: ['--workloads=health,compressed,router', '--runs=2', '--duration=1', '--warmup=1', '--within=1.4']
  },
  db: {
    flags: ['--suite=db', '--full'],
    brief: ['--workloads=slow', '--concurrency=100,2000', '--within=3.5']
  },
  scale: { flags: ['--suite=scale', '--full'], brief: ['--runs=1', '--duration=2', '--within=0.4'] }
} as const satisfies Readonly<Record<string, { flags: readonly string[]; brief: readonly string[] }>>

export type Report = keyof typeof REPORTS
export const reportNames = Object.keys(REPORTS) as Report[]
