/** The events that a group has not handled. They are read when the list is opened, and when somebody asks again. */
import { plural } from '../../plural.ts'
import type { BacklogEventView, BacklogView, GroupView } from '../../protocol.ts'
import { EventData, EventName } from '../event-data.tsx'
import { ago, duration } from '../format.ts'
import { Problem } from '../problem.tsx'
import { hrefOf } from '../route.ts'
import { useAsked } from '../use-asked.ts'

export function Backlog({ group: { service, group } }: { readonly group: GroupView }) {
  const question = { action: 'backlog', service, group }
  const { answer: listed, wrong, again } = useAsked<BacklogView>('events', question)
  const { events = [], hasMore = false, unlisted = 0 } = listed ?? {}
  const isEmpty = events.length + unlisted === 0
  return (
    <div class="opened">
      <div class="actions">
        <button type="button" onClick={again}>
          Look again
        </button>
        <span class="hint" role="status">
          {listed === undefined ? (wrong === '' ? 'Reading…' : '') : isEmpty ? 'None waits' : ''}
        </span>
      </div>
      <Problem text={wrong} />
      <ul class="list">
        {events.map((event) => (
          <Event key={`${event.pattern} ${event.position}`} event={event} />
        ))}
      </ul>
      {unlisted > 0 && (
        <p class="hint">
          {plural(unlisted, 'more event')}: in a process, or in a pause; this store does not list those.
        </p>
      )}
      {hasMore && <p class="hint">The oldest 100 are shown; there are more.</p>}
    </div>
  )
}

function Event({ event }: { readonly event: BacklogEventView }) {
  const { position, pattern, id, key, data, cut, traceId, publishedAt } = event
  return (
    <li class="letter">
      <p class="reason">{stateText(event)}</p>
      <p class="hint">
        <EventName pattern={pattern} id={id} name={key} />, position <code>{position}</code>; published{' '}
        {ago(publishedAt)}
        {traceId !== undefined && (
          <>
            ; <a href={hrefOf('traces', traceId)}>its trace</a>
          </>
        )}
      </p>
      <EventData id={id} data={data} cut={cut} />
    </li>
  )
}

function stateText({ state, attempts, dueAt }: BacklogEventView): string {
  if (state === 'running') return attempts > 1 ? `In a process, attempt ${attempts}` : 'In a process'
  const failed = attempts === 0 ? '' : `, ${plural(attempts, 'attempt')} failed`
  if (state === 'waiting' || dueAt === undefined) return `Waits${failed}`
  const left = dueAt - Date.now()
  return `Comes again ${left > 0 ? `in ${duration(left)}` : 'now'}${failed}`
}
