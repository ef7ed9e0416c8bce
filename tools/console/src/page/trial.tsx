/** Calls a pattern: a form for the data, and the answer. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { plural } from '../plural.ts'
import type { PatternView, Trial as Sent, TrialError } from '../protocol.ts'
import { FieldInput } from './fields.tsx'
import { type Draft, emptyDraft, type Field, fieldOf, readDraft } from './form-model.ts'
import { server } from './server.ts'

/** Largest number of values that are shown; older values are removed. */
const MAX_SHOWN = 100

interface Run {
  readonly state: 'running' | 'ended' | 'stopped' | 'failed'
  readonly count: number
  readonly values: readonly { readonly n: number; readonly text: string; readonly cut: number }[]
  readonly error: TrialError | undefined
}

const JSON_FIELD: Field = { kind: 'json', hint: 'JSON' }

export function Trial({ view, service }: { readonly view: PatternView; readonly service: string }) {
  const { kind, form, pattern } = view
  const made = view.data === undefined ? JSON_FIELD : fieldOf(view.data)
  const [name, setName] = useState(pattern)
  const [isJson, setJson] = useState(false)
  const field = isJson ? JSON_FIELD : made
  const [draft, setDraft] = useState<Draft>(() => emptyDraft(field))
  const headersField = view.headers === undefined ? JSON_FIELD : fieldOf(view.headers)
  const [headers, setHeaders] = useState<Draft>(() => emptyDraft(headersField))
  const [wrong, setWrong] = useState('')
  const { run, begin, stop } = useRun()
  const isRunning = run?.state === 'running'

  const send = (event: Event) => {
    event.preventDefault()
    // A second submission while a call runs is ignored: the Enter key in a field works even if the button is
    // disabled.
    if (isRunning) return
    const read = readDraft(field, draft, view.data !== undefined, '')
    if ('wrong' in read) return setWrong(`Data: ${read.at} ${read.wrong}`)
    const readHeaders = readDraft(headersField, headers, false, '')
    if ('wrong' in readHeaders) return setWrong(`Headers: ${readHeaders.at} ${readHeaders.wrong}`)
    setWrong('')
    void begin({
      service,
      kind,
      pattern: name,
      ...(read.value !== undefined && { data: read.value }),
      headers: textsOf(readHeaders.value)
    })
  }
  const switchToJson = () => {
    const read = readDraft(made, draft, true, '')
    const text = 'value' in read && read.value !== undefined ? JSON.stringify(read.value, null, 2) : ''
    setDraft(isJson ? emptyDraft(made) : text)
    setJson(!isJson)
  }
  return (
    <form class="trial" onSubmit={send} aria-label={`Try ${pattern}`}>
      {form !== 'exact' && (
        <label class="field">
          <span>Pattern</span>
          <input required value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
        </label>
      )}
      <FieldInput
        label="Data"
        field={field}
        draft={draft}
        change={setDraft}
        isRequired={view.data !== undefined}
      />
      {made.kind !== 'json' && (
        <label class="check">
          <input type="checkbox" checked={isJson} onChange={switchToJson} /> Data as JSON
        </label>
      )}
      <details open={view.headers !== undefined}>
        <summary>Headers</summary>
        <FieldInput
          label={view.headers === undefined ? 'Headers, an object of texts' : 'Headers'}
          field={headersField}
          draft={headers}
          change={setHeaders}
          isRequired={false}
        />
      </details>
      <div class="actions">
        <button type="submit" class="main" aria-disabled={isRunning}>
          {kind === 'event' ? 'Send event' : 'Send request'}
        </button>
        {isRunning && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
        <span role="status">{wrong === '' && run !== undefined ? statusOf(run, kind) : ''}</span>
      </div>
      {wrong !== '' && (
        <p class="problem" role="alert">
          {wrong}
        </p>
      )}
      {run?.error !== undefined && (
        <div class="problem" role="alert">
          <p>
            <b>{run.error.code}</b>: {run.error.message}
          </p>
          {run.error.details !== undefined && <pre>{run.error.details}</pre>}
        </div>
      )}
      {run !== undefined && run.values.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard
        <ol class="values" tabIndex={0} aria-label="Values, the latest first">
          {run.values.map(({ n, text, cut }) => (
            <li key={n} value={n}>
              <pre>{text}</pre>
              {cut > 0 && <span class="hint">{plural(cut, 'more character')}</span>}
            </li>
          ))}
        </ol>
      )}
    </form>
  )
}

function statusOf({ state, count }: Run, kind: PatternView['kind']): string {
  if (kind === 'event')
    return { running: 'Sending…', ended: 'Sent', stopped: 'Stopped', failed: 'Failed' }[state]
  const values = count === 1 ? '1 value' : `${count} values`
  return {
    running: `Running, ${values}`,
    ended: `Ended, ${values}`,
    stopped: `Stopped, ${values}`,
    failed: 'Failed'
  }[state]
}

function textsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Object(value) as object).map(([name, each]) => [
      name,
      typeof each === 'string' ? each : JSON.stringify(each)
    ])
  )
}

/** Runs one call at a time. The call is canceled when the component is removed. */
function useRun() {
  const [run, setRun] = useState<Run | undefined>()
  const giveUp = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => giveUp.current?.abort(), [])
  const begin = async (sent: Sent) => {
    const controller = new AbortController()
    giveUp.current = controller
    let now: Run = { state: 'running', count: 0, values: [], error: undefined }
    let frame = 0
    // A fast stream has more values than the browser draws frames.
    const show = (part: Partial<Run>) => {
      now = { ...now, ...part }
      if (frame === 0) {
        frame = requestAnimationFrame(() => {
          frame = 0
          setRun(now)
        })
      }
    }
    const fail = (error: TrialError) => show({ state: 'failed', error })
    show({})
    try {
      for await (const update of server.stream('try', sent, { signal: controller.signal })) {
        if ('error' in update) return fail(update.error)
        const n = now.count + 1
        const values = [{ n, text: update.value, cut: update.cut }, ...now.values].slice(0, MAX_SHOWN)
        show({ count: n, values })
      }
      show({ state: 'ended' })
    } catch (error) {
      if (controller.signal.aborted) show({ state: 'stopped' })
      else fail(error as TrialError)
    }
  }
  return { run, begin, stop: () => giveUp.current?.abort() }
}
