/** Durable events: the events for which groups wait, and dead letters. */
import { plural } from '../../plural.ts'
import type { EventsView, GroupHandler, GroupView, OutboxOf, StoredCount, StoreView } from '../../protocol.ts'
import { duration, whole } from '../format.ts'
import { hrefOf } from '../route.ts'
import { Backlog } from './backlog.tsx'
import { DeadLetters } from './dead-letters.tsx'
import type { Screen, ScreenProps } from './screen.ts'
import { Waiting } from './waiting.tsx'

export const events: Screen = {
  id: 'events',
  title: 'Events',
  View: Events,
  count: ({ topics }) => (topics.events?.groups ?? []).reduce((sum, { dead = 0 }) => sum + dead, 0)
}

const NONE: EventsView = { groups: [], stores: [], outboxes: [] }
/** In the address, in place of a group, whose name it cannot be. */
const LATER = '~later'
/** In the address, behind a group whose backlog is shown. */
const BACKLOG = 'backlog'
/** Largest number of groups that are shown at the same time. */
const MAX_GROUPS = 200

function Events({ shown: { topics }, overview: { canTry }, path: [engine, group, part] }: ScreenProps) {
  const { groups, stores, outboxes } = topics.events ?? NONE
  const opened = groups.find((each) => each.engine === engine && each.group === group)
  return (
    <main>
      <div class="title">
        <h2>Events</h2>
      </div>
      {groups.length === 0 && outboxes.length === 0 && (
        <p class="hint">
          {topics.events === undefined
            ? 'Nothing is known yet'
            : 'No service has durable events, and no relay of an outbox runs'}
        </p>
      )}
      {group !== undefined && group !== LATER && opened === undefined && topics.events !== undefined && (
        <p class="hint" role="status">
          There is no group <bdi>{group}</bdi> in <bdi>{engine}</bdi>, of the services that describe
          themselves.
        </p>
      )}
      {outboxes.length > 0 && (
        <section aria-labelledby="outboxes">
          <h3 id="outboxes">Outboxes</h3>
          <div class="cards">
            {outboxes.map((outbox) => (
              <Outbox key={`${outbox.service} ${outbox.schema}`} outbox={outbox} />
            ))}
          </div>
        </section>
      )}
      {groups.length > 0 && (
        <section aria-labelledby="groups">
          <h3 id="groups">Groups</h3>
          <div class="groups">
            {groups.slice(0, MAX_GROUPS).map((each) => (
              <Group
                key={`${each.engine} ${each.group}`}
                group={each}
                open={each !== opened ? undefined : part === BACKLOG ? BACKLOG : 'letters'}
                canTry={canTry}
              />
            ))}
          </div>
          {groups.length > MAX_GROUPS && (
            <p class="hint">Not shown: {plural(groups.length - MAX_GROUPS, 'more group')}.</p>
          )}
        </section>
      )}
      {stores.length > 0 && (
        <section aria-labelledby="later">
          <h3 id="later">Later</h3>
          <div class="groups">
            {stores.map((store) => (
              <Store
                key={store.engine}
                store={store}
                isOpen={store.engine === engine && group === LATER}
                canTry={canTry}
              />
            ))}
          </div>
        </section>
      )}
    </main>
  )
}

function Outbox({ outbox }: { readonly outbox: OutboxOf }) {
  const { service, schema, pending, oldest, failed, published, retries, isSilent } = outbox
  return (
    <div class="card">
      <h4>
        {schema}{' '}
        <span class="hint">
          its relay runs in {service}
          {isSilent && ', which is not reached'}
        </span>
      </h4>
      <dl>
        <Gauge label="waiting" value={isSilent ? '–' : whole(pending)} />
        <Gauge label="oldest waiting" value={isSilent || pending === 0 ? '–' : duration(oldest)} />
        <Gauge label="refused" value={whole(failed)} isBad={failed > 0} />
        <Gauge label="published" value={whole(published)} />
        <Gauge label="retried" value={whole(retries)} />
      </dl>
    </div>
  )
}

function Gauge(props: { readonly label: string; readonly value: string; readonly isBad?: boolean }) {
  return (
    <div class={props.isBad === true ? 'gauge some' : 'gauge'}>
      <dt>{props.label}</dt>
      <dd>{props.value}</dd>
    </div>
  )
}

function Group(props: {
  readonly group: GroupView
  /** The list of it that is open. */
  readonly open: 'letters' | typeof BACKLOG | undefined
  readonly canTry: boolean
}) {
  const { group: view, open, canTry } = props
  const isOpen = open === 'letters'
  const { engine, group, processes, notReached, handlers, waits, dead, deadUnknown } = view
  return (
    <div class="card group">
      <div class="bar">
        <h4>
          {group} <span class="tag">{engine}</span>
          {handlers.some(({ isPaused }) => isPaused) && <span class="tag odd">paused</span>}
        </h4>
        <span class="hint">
          {plural(processes, 'known process', 'known processes')}
          {notReached > 0 && `, ${notReached === processes ? '' : `${notReached} `}not reached`}
        </span>
      </div>
      <div class="scroll">
        <table class="figures">
          <thead>
            <tr>
              <th scope="col">pattern</th>
              <th scope="col">waiting</th>
              <th scope="col">running</th>
              <th scope="col">retried</th>
              <th scope="col">dead</th>
            </tr>
          </thead>
          <tbody>
            {handlers.map((handler) => (
              <Handler
                key={handler.pattern}
                handler={handler}
                // The store tells one number for all patterns.
                stored={handlers.length === 1 ? waits : undefined}
              />
            ))}
          </tbody>
        </table>
      </div>
      <div class="letters">
        <a
          class="disclosure"
          aria-expanded={open === BACKLOG}
          href={open === BACKLOG ? hrefOf('events') : hrefOf('events', engine, group, BACKLOG)}
        >
          {waitsText(view)}
        </a>
        {open === BACKLOG && <Backlog group={view} />}
      </div>
      <div class="letters">
        {dead === undefined ? (
          <p class="hint">{deadUnknown ?? 'Dead letters are not counted yet'}</p>
        ) : (
          <a
            class="disclosure"
            aria-expanded={isOpen}
            href={isOpen ? hrefOf('events') : hrefOf('events', engine, group)}
          >
            {deadText(dead)}
          </a>
        )}
        {isOpen && dead !== undefined && <DeadLetters group={view} count={dead} canTry={canTry} />}
      </div>
    </div>
  )
}

function Store(props: { readonly store: StoreView; readonly isOpen: boolean; readonly canTry: boolean }) {
  const { store, isOpen, canTry } = props
  const { engine } = store
  return (
    <div class="card group letters">
      <a
        class="disclosure"
        aria-expanded={isOpen}
        href={isOpen ? hrefOf('events') : hrefOf('events', engine, LATER)}
      >
        Events that wait for their time, or recur, in {engine}
      </a>
      {isOpen && <Waiting store={store} canTry={canTry} />}
    </div>
  )
}

function waitsText({ handlers, waits: stored }: GroupView): string {
  const known = handlers.flatMap(({ waits }) => (waits === undefined ? [] : [waits]))
  if (known.length === 0 && stored === undefined) return 'What waits'
  if (stored?.isLeast) return `More than ${whole(stored.count)} events wait or run`
  const count = known.reduce((sum, waits) => sum + waits, stored?.count ?? 0)
  if (count === 0) return 'None waits'
  return plural(count, 'event waits or runs', 'events wait or run')
}

function deadText(dead: number): string {
  if (dead === 0) return 'No dead letters'
  if (dead > 100) return 'More than 100 dead letters'
  return plural(dead, 'dead letter')
}

function Handler(props: { readonly handler: GroupHandler; readonly stored: StoredCount | undefined }) {
  const { handler, stored } = props
  const { pattern, waits = stored?.count, runs, triedAgain, died, unavailable } = handler
  return (
    <tr>
      <th scope="row">
        <code>{pattern}</code>
        {unavailable !== undefined && <p class="problem">{unavailable}</p>}
      </th>
      <td>
        {waits === undefined ? '–' : whole(waits)}
        {stored?.isLeast && '+'}
      </td>
      <td>{runs === undefined ? '–' : whole(runs)}</td>
      <td>{whole(triedAgain)}</td>
      <td class={died > 0 ? 'some' : ''}>{whole(died)}</td>
    </tr>
  )
}
