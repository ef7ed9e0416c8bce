/** Puts load on a server from inside a page of a real browser: the target's client is bundled into the page. */
import { build } from 'esbuild'
import { BenchError } from '../../errors.ts'
import { makeHistogram } from '../../load/histogram.ts'
import { pass } from '../../load/phases.ts'
import { BENCH_FOLDER } from '../../process/folder.ts'
import type { HttpTotals } from '../load/tool.ts'
import type { PageTotals } from './page-load.ts'
import { openQuietPage } from './quiet-page.ts'

/** A page that makes requests to a server. */
export interface LoadingPage {
  /** Begins. Resolves with the first answer, or the first value. */
  start(workload: string, callers: number): Promise<void>
  measure(): Promise<void>
  /** Blocks the page. `false`: `over` has settled before the end. */
  standStill(seconds: number, over: Promise<unknown>): Promise<boolean>
  stop(): Promise<HttpTotals>
  close(): Promise<void>
}

/** @param program the target's client: a path without extension, below the bench's folder */
export async function openPage(url: string, program: string): Promise<LoadingPage> {
  const script = await bundled(program)
  const page = await openQuietPage(url)
  try {
    await page.evaluate(script)
    return {
      async start(workload, callers) {
        await page.evaluate(`load.start('${workload}', ${callers})`)
      },
      async measure() {
        await page.evaluate('load.measure()')
      },
      async standStill(seconds, over) {
        const stood = page.evaluate(`load.standStill(${seconds})`)
        const isAlive = await pass(seconds, over)
        if (isAlive) await stood
        else stood.catch(() => {})
        return isAlive
      },
      stop: async () => totalsOf((await page.evaluate('load.stop()')) as PageTotals),
      close: () => page.close()
    }
  } catch (error) {
    await page.close()
    throw new BenchError(`The page could not be opened: ${(error as Error).message}`)
  }
}

async function bundled(program: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { PageLoad } from './suites/web/page-load.ts'
        import { open } from './${program}.ts'
        globalThis.load = new PageLoad(open())`,
      resolveDir: BENCH_FOLDER
    },
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    platform: 'browser',
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'error'
  })
  return outputFiles[0]!.text
}

function totalsOf({ latencies, ...counted }: PageTotals): HttpTotals {
  const histogram = makeHistogram()
  for (const [microseconds, count] of latencies) histogram.recordValueWithCount(microseconds, count)
  return {
    ...counted,
    average: histogram.totalCount === 0 ? null : histogram.mean / 1_000,
    latencies: histogram
  }
}
