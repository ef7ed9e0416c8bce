/**
 * Decides which message gets which fault. Without side effects: with the same seed, the same messages get the same
 * faults.
 */
import type { RpcErrorInit } from '@elysia-microservices/transport/kit'
import { patternList } from '../router/handler-pattern.ts'
import { PatternRouter } from '../router/pattern-router.ts'
import type { Rule } from './options.ts'

/** The faults of one message. */
export interface Fault {
  /** Milliseconds that the message waits before anything else happens. */
  readonly latency: number
  readonly error: RpcErrorInit | undefined
  readonly drop: boolean
}

interface Chance {
  readonly rule: Rule
  readonly matches: (route: string | undefined) => boolean
  readonly next: () => number
}

/** Draws the faults of all rules, from one seed. */
export class Fate {
  readonly #chances: readonly Chance[]

  constructor(seed: number, rules: readonly Rule[]) {
    this.#chances = rules.map((rule, index) => ({
      rule,
      matches: matcherOf(rule),
      // Each rule has a sequence of random numbers of its own, so that its faults do not depend on other rules and
      // their messages.
      next: randomNumbers(Math.imul(seed ^ (index + 1), 0x9e3779b1) ^ Math.floor(seed / 2 ** 32))
    }))
  }

  /** The fault of the next message of a route; `undefined` if the message is not hit. */
  of(route: string | undefined): Fault | undefined {
    let fault: Fault | undefined
    for (const { rule, matches, next } of this.#chances) {
      if (!matches(route)) continue
      // Each message takes two random numbers of a rule, even if they are not used, so that the nth message of the
      // rule always gets the same two numbers.
      const hit = next() < rule.probability
      const within = next()
      if (!hit || fault !== undefined) continue
      const [least, most] = rule.latency
      fault = { latency: least + (most - least) * within, error: rule.error, drop: rule.drop }
    }
    return fault
  }
}

function matcherOf({ patterns }: Rule): Chance['matches'] {
  if (patterns === undefined) return () => true
  const router = new PatternRouter<true>()
  for (const pattern of patternList(patterns)) router.getOrAdd(pattern, () => true)
  return (route) => router.exact.get(route) !== undefined || router.inexact(route) !== undefined
}

/** A generator of numbers from 0 up to, but not including, 1: the algorithm "mulberry32" (public domain). */
export function randomNumbers(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
