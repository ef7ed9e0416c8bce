/** The events that wait for their time in a store: they can be read, cancelled, and delivered at once. */
import { useEffect } from 'preact/hooks'
import type { StoreView, WaitingEventsView, WaitingEventView } from '../../protocol.ts'
import { EventData, EventName } from '../event-data.tsx'
import { duration } from '../format.ts'
import { Problem } from '../problem.tsx'
import { useAsked, useChange } from '../use-asked.ts'
import { Confirmed } from './confirmed.tsx'

/** Milliseconds between two readings of the list. */
const AGAIN = 5_000

type Action = 'cancel' | 'fire'

export function Waiting({ store, canTry }: { readonly store: StoreView; readonly canTry: boolean }) {
  const { service } = store
  const {
    answer: listed,
    wrong,
    again
  } = useAsked<WaitingEventsView>('events', { action: 'waiting', service })
  useEffect(() => {
    const timer = setInterval(again, AGAIN)
    return () => clearInterval(timer)
  }, [])
  const { said, isBusy, ...changing } = useChange('events', again)
  const change = (action: Action, { pattern, id }: WaitingEventView) =>
    changing.change({ action, service, pattern, id }, (done) => {
      const words = action === 'cancel' ? 'is cancelled' : 'comes now'
      return `${id} ${done === 1 ? words : 'was not waiting any more'}`
    })
  const { events = [], hasMore = false } = listed ?? {}
  return (
    <div class="opened">
      <p class="hint" role="status">
        {said !== ''
          ? said
          : listed === undefined
            ? wrong === '' && 'Reading…'
            : events.length === 0 && 'None waits'}
      </p>
      <Problem text={changing.wrong || wrong} />
      <ul class="list">
        {events.map((event) => (
          <Event
            key={`${event.pattern} ${event.id}`}
            event={event}
            isBusy={isBusy}
            change={canTry ? (action) => change(action, event) : undefined}
          />
        ))}
      </ul>
      {hasMore && <p class="hint">The soonest 100 are shown; there are more.</p>}
    </div>
  )
}

function Event(props: {
  readonly event: WaitingEventView
  readonly isBusy: boolean
  readonly change: ((action: Action) => void) | undefined
}) {
  const { event, isBusy, change } = props
  const { pattern, id, key, at, rule, data, cut } = event
  const left = at - Date.now()
  return (
    <li class="letter">
      <p class="reason">
        {new Date(at).toLocaleString('en', { hourCycle: 'h23' })}, {left > 0 ? `in ${duration(left)}` : 'now'}
      </p>
      <p class="hint">
        <EventName pattern={pattern} id={id} name={key} />
        {rule !== undefined && (
          <>
            ; recurs: <bdi>{rule}</bdi>
          </>
        )}
      </p>
      <EventData id={id} data={data} cut={cut} />
      {change !== undefined && (
        <div class="actions">
          <button type="button" aria-disabled={isBusy} onClick={() => change('fire')}>
            Deliver now
          </button>
          <Confirmed
            label="Cancel"
            question={`Cancel the event ${id}?`}
            isBusy={isBusy}
            act={() => change('cancel')}
          />
        </div>
      )}
    </li>
  )
}
