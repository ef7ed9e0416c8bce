/** How often things happen in a life, and how large they are. */
import type { CarrierName } from './carriers.ts'
import type { Random } from './random.ts'

/** How much of its own kind each step is: most of the time of a life is that of its few largest steps. */
export type Often = Readonly<
  Record<
    'request' | 'emit' | 'value' | 'taken' | 'sent' | 'published' | 'paced' | 'restart' | 'pause',
    readonly number[]
  >
>

/** The part of the lives in which steps may be large; those of the others are small, and more of them meet. */
export const HEAVY = 0.15
export const OFTEN: Often = {
  request: [1, 1, 4, 30],
  emit: [1, 3, 20, 80],
  value: [0, 1, 5, 50, 1_000],
  taken: [1, 5, 100, 2_000],
  sent: [0, 1, 8, 300],
  published: [1, 3, 20],
  paced: [3, 100],
  restart: [1, 1, 1, 1, 3, 30],
  pause: [1, 1, 1, 30]
}
export const SELDOM: Often = {
  request: [1, 1, 1, 3],
  emit: [1, 1, 3, 5],
  value: [0, 1, 2, 5, 20],
  taken: [1, 2, 5, 20],
  sent: [0, 1, 8, 40],
  published: [1, 2, 5],
  paced: [2, 5],
  restart: [1, 1, 1, 1, 1, 3],
  pause: [1, 1, 1, 3]
}

/** Characters of data: most are short, and some need several frames, or parts of a message over an engine. */
const SIZES = [...Array<number>(27).fill(0), 2_000, 2_000, 40_000, 400_000]
const LARGE = 40_000
const SMALL_SIZES = [0, 0, 0, 0, 2_000]
/** The sizes of data; a door ends a connection that leaves more than a mebibyte unread. */
export const sizesOf = (carrier: CarrierName): readonly number[] =>
  carrier === 'websocket' ? SMALL_SIZES : SIZES

/** How often something happens, and the size of its data: what is large happens a few times, because copying takes long. */
export function timesOf(random: Random, often: readonly number[], sizes: readonly number[]) {
  const size = random.of(sizes)
  const times = random.of(often)
  return { times: size < LARGE ? times : Math.min(times, 4), size }
}

/** The values of a channel, some of which comes for seconds. */
export function valuesOf(random: Random, sizes: readonly number[], { sent }: Often) {
  const { times: values, size } = timesOf(random, sent, sizes)
  const pause = random.of([0, 0, 1, 30, 300])
  return { values: pause < 300 ? values : Math.min(values, 20), size, pause }
}
