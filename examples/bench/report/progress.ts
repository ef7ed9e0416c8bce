/** The line on stderr that tells a person at a terminal how a measurement goes. Nothing at all elsewhere. */
import type { Meter } from '../load/meter.ts'

const INTERVAL = 500
const CLEAR_LINE = '\r\u001b[2K'

interface Terminal {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** Shows `label`, requests per second and the seconds gone of `total`, until the function it returns is called. */
export function showProgress(
  label: string,
  meter: Meter,
  total: number,
  terminal: Terminal = process.stderr
): () => void {
  if (terminal.isTTY !== true) return () => {}
  const startedAt = performance.now()
  let last = { at: startedAt, answered: meter.answered }
  const timer = setInterval(() => {
    const now = { at: performance.now(), answered: meter.answered }
    const rate = Math.round(((now.answered - last.answered) * 1000) / (now.at - last.at)).toLocaleString('en')
    const gone = Math.min(total, (now.at - startedAt) / 1000).toFixed(0)
    const errors = meter.errors > 0 ? `  ${meter.errors} errors` : ''
    terminal.write(`${CLEAR_LINE}${label}  ${rate} req/s  ${gone} of ${total} s${errors}`)
    last = now
  }, INTERVAL)
  return () => {
    clearInterval(timer)
    terminal.write(CLEAR_LINE)
  }
}
