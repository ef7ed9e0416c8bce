/** The line on stderr that tells a person at a terminal how a measurement goes. Nothing at all elsewhere. */
import type { Meter } from '../load/meter.ts'

const INTERVAL = 500
const CLEAR_LINE = '\r\u001b[2K'

/** Shows `label`, requests per second and the seconds gone of `total`, until the function it returns is called. */
export function showProgress(label: string, meter: Meter, total: number): () => void {
  if (!process.stderr.isTTY) return () => {}
  const startedAt = performance.now()
  let last = { at: startedAt, answered: meter.answered }
  const timer = setInterval(() => {
    const now = { at: performance.now(), answered: meter.answered }
    const rate = ((now.answered - last.answered) * 1000) / (now.at - last.at)
    const gone = Math.min(total, (now.at - startedAt) / 1000)
    last = now
    const errors = meter.errors > 0 ? `  ${meter.errors} errors` : ''
    process.stderr.write(
      `${CLEAR_LINE}${label}  ${Math.round(rate).toLocaleString('en')} req/s  ${gone.toFixed(0)} of ${total} s${errors}`
    )
  }, INTERVAL)
  return () => {
    clearInterval(timer)
    process.stderr.write(CLEAR_LINE)
  }
}
