/** The programs behind the services: what each does, its lines and environment, and buttons that stop and start it. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ProgramAction, ProgramLine, ProgramLines, ProgramView } from '../../programs.ts'
import { clock, duration } from '../format.ts'
import { hrefOf } from '../route.ts'
import { Search } from '../search.tsx'
import { ask } from '../server.ts'
import type { Screen, ScreenProps } from './screen.ts'

export const programs: Screen = {
  id: 'programs',
  title: 'Programs',
  View: Programs,
  isShown: ({ topics }) => topics.programs !== undefined,
  count: ({ topics }) =>
    (topics.programs?.programs ?? []).filter(({ state }) => STATES[state].dot === 'bad').length
}

const STATES = {
  starting: { dot: 'odd', text: 'starting' },
  ready: { dot: 'good', text: 'ready' },
  crashed: { dot: 'bad', text: 'crashed' },
  broken: { dot: 'bad', text: 'cannot run' },
  ended: { dot: 'odd', text: 'has ended' },
  stopped: { dot: 'odd', text: 'stopped' }
} as const

/** Milliseconds between two requests for new lines. */
const PAUSE = 1_000
/** How many lines are kept and shown. */
const MAX_LINES = 1_000

function Programs({ shown: { topics }, overview: { canTry }, path: [chosen] }: ScreenProps) {
  const all = topics.programs?.programs ?? []
  const isChosen = chosen !== undefined && chosen !== ''
  const program = isChosen ? all.find(({ name }) => name === chosen) : all[0]
  return (
    <div class="columns">
      <nav aria-label="Programs">
        <ul>
          {all.map(({ name, state }) => (
            <li key={name}>
              <a href={hrefOf('programs', name)} aria-current={name === program?.name ? 'page' : undefined}>
                <span class={`dot ${STATES[state].dot}`} aria-hidden="true" />
                <span class="name" title={name}>
                  {name}
                </span>
                <span class="note">{STATES[state].text}</span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main>
        {program === undefined ? (
          <p role="status">
            {isChosen ? (
              <>
                No program <bdi>{chosen}</bdi> is run for this page
              </>
            ) : (
              'No program is run for this page'
            )}
          </p>
        ) : (
          <Program key={program.name} program={program} canTry={canTry} />
        )}
      </main>
    </div>
  )
}

function Program({ program, canTry }: { readonly program: ProgramView; readonly canTry: boolean }) {
  const { name, state, problem, pid, ports, starts, since, services } = program
  const facts = [
    ...(pid === undefined ? [] : [`process ${pid}`]),
    ...(ports.length === 0 ? [] : [`${ports.length === 1 ? 'port' : 'ports'} ${ports.join(', ')}`]),
    ...(starts > 1 ? [`started ${starts} times`] : [])
  ]
  return (
    <>
      <div class="title">
        <h2>{name}</h2>
        <span class="status">
          {STATES[state].text} for {duration(Math.max(1_000, Date.now() - since))}
        </span>
        {canTry && <Buttons name={name} state={state} />}
      </div>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <p class="hint">
        {facts.join(' · ')}
        {services.map((service) => (
          <span key={service}>
            {' · '}
            <a href={hrefOf('services', service)}>
              {service === name ? 'its patterns and charts' : `the service ${service}`}
            </a>
          </span>
        ))}
      </p>
      <Log name={name} />
      {canTry && <Environment name={name} />}
    </>
  )
}

/** The buttons of each state, as one reads them. */
const BUTTONS = {
  start: 'Start',
  stop: 'Stop',
  restart: 'Restart'
} as const

function actionsOf(state: ProgramView['state']): readonly ProgramAction[] {
  if (state === 'ready' || state === 'starting') return ['restart', 'stop']
  return state === 'stopped' ? ['start'] : ['start', 'stop']
}

function Buttons({ name, state }: Pick<ProgramView, 'name' | 'state'>) {
  const [failure, setFailure] = useState<string | undefined>()
  const act = (action: ProgramAction) => {
    setFailure(undefined)
    ask('programs', { name, action }).catch(({ message }: Error) => setFailure(message))
  }
  return (
    <span class="actions">
      {actionsOf(state).map((action) => (
        <button key={action} type="button" onClick={() => act(action)}>
          {BUTTONS[action]}
        </button>
      ))}
      {failure !== undefined && (
        <span class="problem" role="alert">
          {failure}
        </span>
      )}
    </span>
  )
}

function Log({ name }: { readonly name: string }) {
  const lines = useLines(name)
  const [wanted, setWanted] = useState('')
  const box = useRef<HTMLPreElement>(null)
  const isAtEnd = useRef(true)
  const found = lines.filter(({ text }) => text.toLowerCase().includes(wanted.toLowerCase()))
  useLayoutEffect(() => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight
  })
  return (
    <section aria-labelledby="log">
      <div class="bar">
        <h3 id="log">Log</h3>
        <Search text={wanted} set={setWanted} />
      </div>
      {found.length === 0 ? (
        <p class="hint">{lines.length === 0 ? 'It has written nothing yet' : 'No line has this text'}</p>
      ) : (
        <pre
          ref={box}
          class="log card"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
          tabIndex={0}
          onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
            isAtEnd.current = scrollTop + clientHeight > scrollHeight - 8
          }}
        >
          {found.map(({ number, at, text }) => (
            <div key={number}>
              <time dateTime={new Date(at).toISOString()}>{clock(at)}</time> {text}
            </div>
          ))}
        </pre>
      )}
    </section>
  )
}

/** The lines of a program, as they come. */
function useLines(name: string): readonly ProgramLine[] {
  const [lines, setLines] = useState<readonly ProgramLine[]>([])
  useEffect(() => {
    const over = new AbortController()
    const follow = async () => {
      let last = 0
      while (!over.signal.aborted) {
        try {
          const told = await ask<ProgramLines>(
            'programs',
            { name, action: 'lines', after: last },
            over.signal
          )
          const isAnew = told.last < last
          last = told.last
          if (told.lines.length > 0)
            setLines((before) => [...(isAnew ? [] : before), ...told.lines].slice(-MAX_LINES))
        } catch {
          // The page says itself that its connection is lost.
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE))
      }
    }
    void follow()
    return () => over.abort()
  }, [name])
  return lines
}

type Variables = readonly (readonly [name: string, value: string])[]

function Environment({ name }: { readonly name: string }) {
  const [variables, setVariables] = useState<Variables | string | undefined>()
  const read = () => {
    ask<Variables>('programs', { name, action: 'environment' }).then(setVariables, ({ message }: Error) =>
      setVariables(message)
    )
  }
  return (
    <details onToggle={({ currentTarget: { open } }) => (open ? read() : setVariables(undefined))}>
      <summary>Environment, beside the variables of your shell</summary>
      {typeof variables === 'string' ? (
        <p class="problem" role="alert">
          {variables}
        </p>
      ) : variables?.length === 0 ? (
        <p class="hint">None</p>
      ) : (
        <dl class="environment">
          {variables?.map(([variable, value]) => (
            <div key={variable}>
              <dt>
                <code>{variable}</code>
              </dt>
              <dd>
                <code>{value}</code>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </details>
  )
}
