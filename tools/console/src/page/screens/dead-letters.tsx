/** The dead letters of a group, which can be read, redriven and discarded. */
import { useEffect, useState } from 'preact/hooks'
import type { DeadLettersView, DeadLetterView, GroupView } from '../../protocol.ts'
import { EventData, EventName } from '../event-data.tsx'
import { ago, whole } from '../format.ts'
import { hrefOf } from '../route.ts'
import { ask } from '../server.ts'
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
  const [listed, setListed] = useState<DeadLettersView | undefined>()
  const [said, say] = useState('')
  const [wrong, setWrong] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [round, setRound] = useState(0)
  useEffect(() => {
    const left = new AbortController()
    ask<DeadLettersView>('events', { action: 'list', service, group }, left.signal).then(
      (all) => {
        setListed(all)
        setWrong('')
      },
      (error: Error) => {
        if (!left.signal.aborted) setWrong(error.message)
      }
    )
    return () => left.abort()
  }, [service, group, count, round])

  const change = async (action: Action, positions: readonly string[] | 'all') => {
    // A second click while an action runs is ignored.
    if (isBusy) return
    setBusy(true)
    setWrong('')
    try {
      const { done } = await ask<{ readonly done: number }>('events', {
        action,
        service,
        group,
        positions
      })
      say(`${whole(done)} ${action === 'redrive' ? 'redriven' : 'discarded'}`)
    } catch (error) {
      setWrong((error as Error).message)
    } finally {
      setBusy(false)
      setRound((before) => before + 1)
    }
  }
  const { letters = [], hasMore = false } = listed ?? {}
  return (
    <div class="opened">
      {canTry && letters.length > 0 && (
        <div class="actions">
          <button
            type="button"
            class="main"
            aria-disabled={isBusy}
            onClick={() => void change('redrive', 'all')}
          >
            Redrive all
          </button>
          <Confirmed
            label="Discard all"
            question={`Discard all dead letters of ${group}?`}
            isBusy={isBusy}
            act={() => void change('discard', 'all')}
          />
          <span role="status">{said}</span>
        </div>
      )}
      {!canTry && <p class="hint">The console is read-only: its option try is not set.</p>}
      {letters.length === 0 && (
        <p class="hint" role="status">
          {listed === undefined ? 'Reading…' : said === '' ? 'There are none' : `${said}. There are no more`}
        </p>
      )}
      {wrong !== '' && (
        <p class="problem" role="alert">
          {wrong}
        </p>
      )}
      <ul class="list">
        {letters.map((letter) => (
          <Letter
            key={letter.position}
            letter={letter}
            isBusy={isBusy}
            change={canTry ? (action) => void change(action, [letter.position]) : undefined}
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
        {ago(diedAt)} after {attempts} {attempts === 1 ? 'attempt' : 'attempts'}
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
