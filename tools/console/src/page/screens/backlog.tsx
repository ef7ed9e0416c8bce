/** The events that a group has not handled. They are read when the list is opened, and when somebody asks again. */
import { useEffect, useState } from 'preact/hooks'
import type { BacklogEventView, BacklogView, GroupView } from '../../protocol.ts'
import { EventData, EventName } from '../event-data.tsx'
import { ago, duration } from '../format.ts'
import { hrefOf } from '../route.ts'
import { ask } from '../server.ts'

export function Backlog({ group: { service, group } }: { readonly group: GroupView }) {
  const [listed, setListed] = useState<BacklogView | undefined>()
  const [wrong, setWrong] = useState('')
  const [round, setRound] = useState(0)
  useEffect(() => {
    const left = new AbortController()
    ask<BacklogView>('events', { action: 'backlog', service, group }, left.signal).then(
      (all) => {
        setListed(all)
        setWrong('')
      },
      (error: Error) => {
        if (!left.signal.aborted) setWrong(error.message)
      }
    )
    return () => left.abort()
  }, [service, group, round])

  const { events = [], hasMore = false, unlisted = 0 } = listed ?? {}
  const isEmpty = events.length + unlisted === 0
  return (
    <div class="opened">
      <div class="actions">
        <button type="button" onClick={() => setRound((before) => before + 1)}>
          Look again
        </button>
        <span class="hint" role="status">
          {listed === undefined ? (wrong === '' ? 'Reading…' : '') : isEmpty ? 'None waits' : ''}
        </span>
      </div>
      {wrong !== '' && (
        <p class="problem" role="alert">
          {wrong}
        </p>
      )}
      <ul class="list">
        {events.map((event) => (
          <Event key={`${event.pattern} ${event.position}`} event={event} />
        ))}
      </ul>
      {unlisted > 0 && (
        <p class="hint">{unlisted} more: in a process, or in a pause; this store does not list those.</p>
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
  const failed = attempts === 0 ? '' : `, ${attempts === 1 ? '1 attempt' : `${attempts} attempts`} failed`
  if (state === 'waiting' || dueAt === undefined) return `Waits${failed}`
  const left = dueAt - Date.now()
  return `Comes again ${left > 0 ? `in ${duration(left)}` : 'now'}${failed}`
}
