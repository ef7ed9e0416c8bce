/**
 * The tool `autocannon`, which is used if `wrk` is missing: it runs in the measuring process, and needs more
 * processor time than a fast server.
 */
import autocannon from 'autocannon'
import { makeHistogram } from '../load/histogram.ts'
import type { HttpLoad, HttpTotals } from '../suites/load/tool.ts'

/** Seconds that are longer than any measurement: autocannon is stopped earlier. */
const FOREVER = 86_400

export async function run(load: HttpLoad, seconds: number, over: AbortSignal): Promise<HttpTotals> {
  const { host, port, connections, asked } = load
  const latencies = makeHistogram()
  let total = 0
  let wrong = 0
  const startedAt = performance.now()
  const { errors, timeouts } = await new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(
      {
        url: `http://${host}:${port}`,
        connections,
        duration: FOREVER,
        // The interval in milliseconds at which autocannon checks whether it was stopped.
        sampleInt: 100,
        requests: asked.map(({ method, path, headers, body, status }) => ({
          method,
          path,
          ...(headers !== undefined && { headers: { ...headers } }),
          ...(body !== undefined && { body }),
          onResponse: (got: number) => {
            if (got !== status) wrong++
          }
        }))
      },
      (error, result) => (error ? reject(error as Error) : resolve(result))
    )
    instance.on('response', (_client, _status, _bytes, milliseconds) => {
      latencies.recordValue(Math.max(1, Math.round(milliseconds * 1000)))
      total += milliseconds
    })
    const end = () => (instance as unknown as { stop(): void }).stop()
    const timer = setTimeout(end, seconds * 1000)
    over.addEventListener('abort', end, { once: true })
    instance.once('done', () => clearTimeout(timer))
  })
  const answered = latencies.totalCount
  const failed = { error: errors, timeout: timeouts, 'another status than the right one': wrong }
  const first = Object.entries(failed).find(([, count]) => count > 0)
  return {
    completed: answered - wrong,
    seconds: (performance.now() - startedAt) / 1000,
    errors: errors + timeouts + wrong,
    firstError: first === undefined ? null : `autocannon counted ${first[1]} times: ${first[0]}`,
    average: answered === 0 ? null : total / answered,
    latencies
  }
}
