/** Lists that the server makes only when somebody looks at them, and changes of what is listed. */
import { useEffect, useState } from 'preact/hooks'
import type { Topics } from '../protocol.ts'
import { ask } from './server.ts'

/** The answer to a question. */
export interface Asked<Answer> {
  /** The latest answer; `undefined`: there is none yet. */
  readonly answer: Answer | undefined
  /** Why the latest request has failed; empty: it has not. */
  readonly wrong: string
  /** Asks again. */
  again(): void
}

/**
 * Asks when the list is opened, and when the question changes.
 * @param reason asks again when it changes
 */
export function useAsked<Answer>(topic: keyof Topics, question: object, reason?: unknown): Asked<Answer> {
  const [found, setFound] = useState<{ readonly of: string; readonly answer: Answer } | undefined>()
  const [wrong, setWrong] = useState('')
  const [round, setRound] = useState(0)
  const of = JSON.stringify(question)
  useEffect(() => {
    const left = new AbortController()
    ask<Answer>(topic, question, left.signal).then(
      (answer) => {
        setFound({ of, answer })
        setWrong('')
      },
      (error: Error) => {
        if (!left.signal.aborted) setWrong(error.message)
      }
    )
    return () => left.abort()
  }, [topic, of, reason, round])
  return {
    answer: found?.of === of ? found.answer : undefined,
    wrong,
    again: () => setRound((before) => before + 1)
  }
}

/** Changes of what is listed, one at a time. */
export interface Changing {
  /** The result of the last change, in words; empty: there was none. */
  readonly said: string
  /** Why the last change has failed; empty: it has not. */
  readonly wrong: string
  readonly isBusy: boolean
  /** @param told puts how many were changed into words */
  change(question: object, told: (done: number) => string): void
}

/** @param then called after each change */
export function useChange(topic: keyof Topics, then: () => void): Changing {
  const [said, say] = useState('')
  const [wrong, setWrong] = useState('')
  const [isBusy, setBusy] = useState(false)
  const change = async (question: object, told: (done: number) => string) => {
    // A second click while an action runs is ignored.
    if (isBusy) return
    setBusy(true)
    setWrong('')
    try {
      say(told((await ask<{ readonly done: number }>(topic, question)).done))
    } catch (error) {
      setWrong((error as Error).message)
    } finally {
      setBusy(false)
      then()
    }
  }
  return { said, wrong, isBusy, change: (question, told) => void change(question, told) }
}
