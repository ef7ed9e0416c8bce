/** The latest calls as waterfalls across services. They can be searched by id, pattern, error and duration. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { plural } from '../../plural.ts'
import type { TraceLine, TraceView } from '../../protocol.ts'
import { clock, ms } from '../format.ts'
import { Problem } from '../problem.tsx'
import { hrefOf } from '../route.ts'
import { ask, base } from '../server.ts'
import { Waterfall } from '../traces/waterfall.tsx'
import type { Screen, ScreenProps } from './screen.ts'

export const traces: Screen = { id: 'traces', title: 'Traces', View: TracesScreen }

/** Milliseconds after the last key press after which the search begins. */
const TYPED = 250

function TracesScreen({ shown, path: [id] }: ScreenProps) {
  return id === undefined || id === '' ? <List shown={shown} /> : <One key={id} shown={shown} id={id} />
}

function List({ shown }: Pick<ScreenProps, 'shown'>) {
  const [text, setText] = useState('')
  const [onlyErrors, setOnlyErrors] = useState(false)
  const [longerThan, setLongerThan] = useState('')
  const [found, setFound] = useState<Answer | undefined>()
  const [problem, setProblem] = useState<string | undefined>()
  const told = shown.topics.traces
  const isSearch = text !== '' || onlyErrors || longerThan !== ''
  useEffect(() => {
    if (!isSearch) {
      setFound(undefined)
      return
    }
    const left = new AbortController()
    const question = { text, onlyErrors, longerThan: Number(longerThan) || 0 }
    const timer = setTimeout(() => {
      ask<readonly TraceLine[]>('traces', question, left.signal).then(
        (lines) => {
          setProblem(undefined)
          setFound({ lines, of: JSON.stringify(question) })
        },
        (error: Error) => {
          if (!left.signal.aborted) setProblem(error.message)
        }
      )
    }, TYPED)
    return () => {
      clearTimeout(timer)
      left.abort()
    }
  }, [text, onlyErrors, longerThan, isSearch, told])
  const list = useStill(isSearch ? (found ?? NOTHING) : { lines: told?.latest ?? [], of: 'all' })
  const { lines } = list
  return (
    <main class="traces">
      <div class="title">
        <h2>Traces</h2>
        <span class="note">
          {told === undefined || told.kept === 0
            ? ''
            : `${told.kept.toLocaleString('en')} kept${told.dropped > 0 ? ', older ones were dropped' : ''}`}
          {list.isStill && (
            <>
              {' '}
              · paused<span class="why"> while you point at the list</span>
            </>
          )}
        </span>
      </div>
      <form class="finding" onSubmit={(event) => event.preventDefault()}>
        <label>
          <span>Find</span>
          <input
            type="search"
            placeholder="id, pattern, service, error"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <label>
          <span>Longer than, ms</span>
          <input
            type="number"
            min="0"
            value={longerThan}
            onInput={({ currentTarget }) => setLongerThan(currentTarget.value)}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={onlyErrors}
            onChange={({ currentTarget }) => setOnlyErrors(currentTarget.checked)}
          />
          <span>With errors</span>
        </label>
      </form>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {lines.length === 0 ? (
        <p class="hint">
          {isSearch
            ? found === undefined
              ? 'Looking…'
              : 'No trace matches'
            : `No traces yet. What dev starts sends them by itself; other programs send OTLP as JSON to ${new URL(`${base}/v1/traces`, location.href).href}`}
        </p>
      ) : (
        <ol class="lines" {...list.events}>
          {/* The keys are the positions in the list: when a trace is added, all rows change their text, but no row
              moves. */}
          {lines.map((line, place) => (
            <Line key={place} line={line} />
          ))}
        </ol>
      )}
    </main>
  )
}

/** Lines, and the question to which they are the answer. */
interface Answer {
  readonly lines: readonly TraceLine[]
  readonly of: string
}
const NOTHING: Answer = { lines: [], of: '' }

/**
 * Returns lines that do not change while the pointer or the focus is on the list, because nobody can click on a row
 * that moves. They change if the question changes.
 */
function useStill(latest: Answer) {
  const [isPointed, point] = useState(false)
  const [isFocused, focus] = useState(false)
  const shown = useRef(latest)
  const isStill = (isPointed || isFocused) && shown.current.of === latest.of
  if (!isStill) shown.current = latest
  const { lines } = shown.current
  const isGone = lines.length === 0
  useEffect(() => {
    // A list that has been removed reports no pointer that leaves it.
    if (!isGone) return
    point(false)
    focus(false)
  }, [isGone])
  const events = {
    onPointerEnter: ({ pointerType }: PointerEvent) => point(pointerType === 'mouse'),
    onPointerLeave: () => point(false),
    onFocusIn: () => focus(true),
    onFocusOut: () => focus(false)
  }
  return { lines, isStill: isStill && lines !== latest.lines, events }
}

function Line({ line }: { readonly line: TraceLine }) {
  const { id, name, service, at, duration, spans, errors, services } = line
  return (
    <li>
      <a href={hrefOf('traces', id)} class={errors > 0 ? 'failed' : ''}>
        <span class="when">{clock(at)}</span>
        <span class="what">
          <bdi class="name">{name}</bdi>
          <bdi class="note">{services.length > 1 ? services.join(' → ') : service}</bdi>
        </span>
        <span class="note many">{plural(spans, 'span')}</span>
        <span class={errors > 0 ? 'wrong some' : 'wrong'}>{errors > 0 && plural(errors, 'error')}</span>
        <span class="time">{ms(duration)} ms</span>
      </a>
    </li>
  )
}

function One({ shown, id }: Pick<ScreenProps, 'shown'> & { readonly id: string }) {
  const [trace, setTrace] = useState<TraceView | null | undefined>()
  const [problem, setProblem] = useState('')
  // The trace grows while its spans arrive.
  const spans = shown.topics.traces?.latest.find((line) => line.id === id)?.spans
  useEffect(() => {
    const left = new AbortController()
    ask<TraceView | null>('traces', { trace: id }, left.signal).then(
      (view) => {
        // If the collector has dropped the trace in the meantime, the known spans are kept.
        setTrace((known) => view ?? known ?? null)
        setProblem('')
      },
      (error: Error) => {
        if (!left.signal.aborted) setProblem(error.message)
      }
    )
    return () => left.abort()
  }, [id, spans])
  const [first] = trace?.spans ?? []
  return (
    <main class="traces">
      <p>
        <a href={hrefOf('traces')}>All traces</a>
      </p>
      <div class="title">
        <h2>
          <bdi>{first?.name ?? 'Trace'}</bdi>
        </h2>
        <code class="version">{id}</code>
      </div>
      <Problem text={problem} />
      {trace === null && <p class="hint">The server does not have this trace, or has dropped it.</p>}
      {trace && <Waterfall trace={trace} />}
    </main>
  )
}
