/** Charts of a service, or of one of its patterns: for the last minutes or the last hour, with marks for changes. */
import { useState } from 'preact/hooks'
import type { Figures, Mark, PastView } from '../../protocol.ts'
import { Chart, hasValues } from '../chart.tsx'
import { clock, count, duration, ms, share, whole } from '../format.ts'
import { gaugeLines, type History, linesByPattern, linesOf } from '../history.ts'
import { compared, joined, pastByPattern, pastOf, type Side } from '../past.ts'
import { usePast } from '../use-past.ts'

const PERCENTILES = [
  ['p99', 'p99'],
  ['p90', 'p90'],
  ['p50', 'p50']
] as const

const GAUGES = [
  ['connections', 'connections'],
  ['in flight', 'inFlight'],
  ['streams', 'streams']
] as const

const RANGES = [
  ['5 minutes', 300],
  ['1 hour', 3_600]
] as const

export function ServiceCharts(props: {
  /** The name of the service, and the id of its view. */
  readonly service: string
  readonly id: string
  readonly history: History
  readonly marks: readonly Mark[]
  /** Kind and pattern of the pattern that is shown; `undefined` for all patterns. */
  readonly pattern: string | undefined
  readonly showAll: () => void
}) {
  const { service, id, history, marks, pattern, showAll } = props
  const [seconds, setSeconds] = useState<number>(RANGES[0][1])
  const past = usePast(id, pattern)
  const from = Date.now() / 1_000 - seconds
  const own = marks.filter((mark) => mark.service === service)
  const shown = own.filter(({ at }) => at / 1_000 >= from)
  const figure = (title: string, figures: readonly (readonly [string, keyof Figures])[]) => ({
    title,
    ...joined(pastOf(past, figures), linesOf(history, pattern, figures), from),
    from,
    marks: shown
  })
  const byPattern = (title: string, of: 'rate' | 'errors') => ({
    title,
    ...joined(pastByPattern(past, of), linesByPattern(history, of), from),
    from,
    marks: shown
  })
  const lifetimes = figure('Lifetime of streams, ms', [['p50', 'lifetime']])
  return (
    <section aria-label="Charts">
      <div class="bar">
        <h3>{pattern === undefined ? 'All patterns' : pattern.slice(pattern.indexOf(' ') + 1)}</h3>
        {pattern !== undefined && (
          <button type="button" onClick={showAll}>
            Show all patterns
          </button>
        )}
        <fieldset class="choice">
          <legend>Shown</legend>
          {RANGES.map(([label, value]) => (
            <label key={value}>
              <input
                type="radio"
                name="range"
                checked={seconds === value}
                onChange={() => setSeconds(value)}
              />
              {label}
            </label>
          ))}
        </fieldset>
      </div>
      <div class="charts">
        <Chart
          {...(pattern === undefined
            ? byPattern('Messages a second', 'rate')
            : figure('Messages a second', [['messages', 'rate']]))}
          format={count}
        />
        <Chart {...figure('Latency, ms', PERCENTILES)} format={ms} />
        <Chart
          {...(pattern === undefined
            ? byPattern('Errors a second', 'errors')
            : figure('Errors a second', [['errors', 'errors']]))}
          format={count}
          empty="No errors"
        />
        {pattern === undefined ? (
          <Chart
            title="Connections, in flight"
            {...joined({ times: [], lines: [] }, gaugeLines(history, GAUGES), from)}
            from={from}
            marks={shown}
            format={whole}
            areWhole
          />
        ) : (
          <Chart {...figure('In flight', [['in flight', 'inFlight']])} format={whole} areWhole />
        )}
        {hasValues(lifetimes.lines) && <Chart {...lifetimes} format={duration} />}
      </div>
      {pattern === undefined && own.length > 0 && <Changes past={past} marks={own} />}
    </section>
  )
}

/** Largest number of changes of the last hour that can be compared. */
const MAX_CHANGES = 20

const ROWS = [
  ['messages a second', ({ rate }: Side) => (rate === undefined ? '–' : count(rate))],
  ['p50, ms', ({ p50 }: Side) => ms(p50)],
  ['p99, ms', ({ p99 }: Side) => ms(p99)],
  ['errors', ({ errors }: Side) => (errors === undefined ? '–' : share(errors))]
] as const

/** The figures of the service before and after each change. */
function Changes({ past, marks }: { readonly past: PastView; readonly marks: readonly Mark[] }) {
  const latest = marks.slice(-MAX_CHANGES).reverse()
  const [chosen, choose] = useState<number | undefined>()
  const mark = latest.find(({ at }) => at === chosen) ?? (latest[0] as Mark)
  const { before, after } = compared(past, mark, marks)
  return (
    <div class="card changes">
      <div class="bar">
        <h4>Before and after</h4>
        <label>
          <span class="hint">Change</span>{' '}
          <select
            value={String(mark.at)}
            onChange={({ currentTarget }) => choose(Number(currentTarget.value))}
          >
            {latest.map((each) => (
              <option key={each.at} value={String(each.at)}>
                {clock(each.at)}, {markText(each)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <table class="figures">
        <thead>
          <tr>
            <th scope="col" />
            <th scope="col">
              before{before.seconds > 0 && <span> ({duration(before.seconds * 1_000)})</span>}
            </th>
            <th scope="col">after{after.seconds > 0 && <span> ({duration(after.seconds * 1_000)})</span>}</th>
          </tr>
        </thead>
        <tbody>
          {ROWS.map(([label, text]) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td>{text(before)}</td>
              <td>{text(after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A change in a few words. */
export function markText({ what, version }: Mark): string {
  if (what === 'process') return version === '' ? 'new process' : `new process, ${version}`
  return version === '' ? 'without a version' : `version ${version}`
}
