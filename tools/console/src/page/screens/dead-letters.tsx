/** The dead letters of a group, which can be read, redriven and discarded. */
import { plural } from '../../plural.ts'
import type { DeadLettersView, DeadLetterView, GroupView } from '../../protocol.ts'
import { EventData, EventName } from '../event-data.tsx'
import { ago, whole } from '../format.ts'
import { Problem } from '../problem.tsx'
import { hrefOf } from '../route.ts'
import { useAsked, useChange } from '../use-asked.ts'
import { Confirmed } from './confirmed.tsx'

type Action = 'redrive' | 'discard'

export function DeadLetters(props: {
  readonly group: GroupView
  /** The number of dead letters. When it changes, the list is read again. */
  readonly count: number
  readonly canTry: boolean
}) {
  const { group: view, count, canTry } = props
  const { service, group } = view
  const question = { action: 'list', service, group }
  const { answer: listed, wrong, again } = useAsked<DeadLettersView>('events', question, count)
  const changing = useChange('events', again)
  const { said, isBusy } = changing
  const change = (action: Action, positions: readonly string[] | 'all') =>
    changing.change(
      { action, service, group, positions },
      (done) => `${whole(done)} ${action === 'redrive' ? 'redriven' : 'discarded'}`
    )
  const { letters = [], hasMore = false } = listed ?? {}
  return (
    <div class="opened">
      {canTry && letters.length > 0 && (
        <div class="actions">
          <button type="button" class="main" aria-disabled={isBusy} onClick={() => change('redrive', 'all')}>
            Redrive all
          </button>
          <Confirmed
            label="Discard all"
            question={`Discard all dead letters of ${group}?`}
            isBusy={isBusy}
            act={() => change('discard', 'all')}
          />
          <span role="status">{said}</span>
        </div>
      )}
      {!canTry && <p class="hint">The console is read-only: its option try is not set.</p>}
      {letters.length === 0 && (
        <p class="hint" role="status">
          {listed === undefined
            ? wrong === '' && 'Reading…'
            : said === ''
              ? 'There are none'
              : `${said}. There are no more`}
        </p>
      )}
      <Problem text={changing.wrong || wrong} />
      <ul class="list">
        {letters.map((letter) => (
          <Letter
            key={letter.position}
            letter={letter}
            isBusy={isBusy}
            change={canTry ? (action) => change(action, [letter.position]) : undefined}
          />
        ))}
      </ul>
      {hasMore && <p class="hint">The oldest 100 are shown; there are more.</p>}
    </div>
  )
}

function Letter(props: {
  readonly letter: DeadLetterView
  readonly isBusy: boolean
  readonly change: ((action: Action) => void) | undefined
}) {
  const { letter, isBusy, change } = props
  const { position, pattern, id, key, reason, attempts, data, cut, traceId, diedAt, leftOut } = letter
  return (
    <li class="letter">
      <p class="reason">
        <bdi>{reason}</bdi>
      </p>
      <p class="hint">
        <EventName pattern={pattern} id={id} name={key} />, position <code>{position}</code>; given up{' '}
        {ago(diedAt)} after {plural(attempts, 'attempt')}
        {traceId !== undefined && (
          <>
            ; <a href={hrefOf('traces', traceId)}>its trace</a>
          </>
        )}
      </p>
      {leftOut.length > 0 && (
        <p class="hint">The engine had no room for {leftOut.join(', ')}: it cannot be redriven whole.</p>
      )}
      <EventData id={id} data={data} cut={cut} />
      {change !== undefined && (
        <div class="actions">
          <button type="button" aria-disabled={isBusy} onClick={() => change('redrive')}>
            Redrive
          </button>
          <Confirmed
            label="Discard"
            question={`Discard the dead letter ${id}?`}
            isBusy={isBusy}
            act={() => change('discard')}
          />
        </div>
      )}
    </li>
  )
}
