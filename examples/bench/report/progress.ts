/** A line on stderr that shows the progress of a measurement, only on a terminal. */
import type { Gauge } from '../load/load-run.ts'

const INTERVAL = 500
const CLEAR_LINE = '\r\u001b[2K'
const BAR = 12

interface Terminal {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** Shows the current values of `gauge`, and the elapsed seconds of `total`, until the returned function is called. */
export function showProgress(
  label: string,
  gauge: Gauge,
  total: number,
  terminal: Terminal = process.stderr
): () => void {
  if (terminal.isTTY !== true) return () => {}
  const startedAt = performance.now()
  let last = { at: startedAt, answered: gauge.answered }
  const timer = setInterval(() => {
    const now = { at: performance.now(), answered: gauge.answered }
    const rate = Math.round(((now.answered - last.answered) * 1000) / (now.at - last.at)).toLocaleString('en')
    const gone = Math.min(total, (now.at - startedAt) / 1000)
    const p99 = gauge.recentP99()
    const latency = p99 === null ? '' : `  p99 ${p99.toFixed(2)} ms`
    const errors = gauge.errors > 0 ? `  ${gauge.errors} errors` : ''
    const line = `${label}  ${bar(gone / total)}  ${rate} req/s${latency}  ${gone.toFixed(0)} of ${total} s${errors}`
    terminal.write(`${CLEAR_LINE}${line}`)
    last = now
  }, INTERVAL)
  return () => {
    clearInterval(timer)
    terminal.write(CLEAR_LINE)
  }
}

function bar(share: number): string {
  const full = Math.round(BAR * share)
  return '█'.repeat(full) + '░'.repeat(BAR - full)
}
