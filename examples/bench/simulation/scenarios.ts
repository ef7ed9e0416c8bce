/** What is simulated, as tables and curves. */
import type { Choice, Retries } from './client.ts'
import { World, type WorldOptions } from './world.ts'

/** Servers that take 10 ms for a call, a quarter of a millisecond away, and callers that wait for a second. */
const BASE = {
  timeout: 1_000,
  latency: 0.25,
  server: { work: 10 },
  choice: 'ours',
  retries: 'ours',
  load: 0.7,
  warmup: 2,
  seed: 1
} as const

const SEEDS = [1, 2, 3, 4, 5]

export interface Table {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export interface Curve {
  readonly name: string
  readonly points: readonly { readonly time: number; readonly share: number }[]
}

/** The middle one of several runs, which differ by their seeds. */
function median(figures: readonly number[]): number {
  return figures.toSorted((one, other) => one - other)[figures.length >> 1]!
}

const runs = (options: Omit<WorldOptions, 'seed'>, disturb: (world: World) => void = () => {}): World[] =>
  SEEDS.map((seed) => {
    const world = new World({ ...options, seed })
    disturb(world)
    return world.run()
  })

const shown = (worlds: readonly World[], figure: (world: World) => number, digits = 0): string =>
  median(worlds.map(figure)).toFixed(digits)

const percent = (worlds: readonly World[], figure: (world: World) => number): string => {
  const share = 100 * median(worlds.map(figure))
  return `${share === 0 ? '0' : share < 0.1 ? share.toFixed(3) : share.toFixed(1)} %`
}

const CHOICES = ['ours', 'round robin', 'random'] as const

/** How evenly calls are spread, and what that costs: p99 by servers and clients. */
export function spread(): Table {
  const sizes = [
    [1, 10],
    [10, 10],
    [10, 100],
    [10, 10_000],
    [100, 10],
    [100, 1_000],
    [1_000, 100]
  ] as const
  const rows = sizes.map(([servers, clients]) => {
    // Some 30,000 calls.
    const warmup = servers < 1_000 ? BASE.warmup : 0.5
    const seconds = warmup + Math.max(0.5, 30_000 / (servers * 70))
    const base = { ...BASE, servers, clients, warmup, seconds }
    const p99 = (worlds: readonly World[]) => `${shown(worlds, (world) => world.percentile(0.99))} ms`
    return [
      servers.toLocaleString('en'),
      clients.toLocaleString('en'),
      p99(runs({ ...base, clients: 1, isPerfect: true })),
      ...CHOICES.map((choice) => p99(runs({ ...base, choice })))
    ]
  })
  return { head: ['servers', 'clients', 'one perfect queue', ...CHOICES], rows }
}

type Trouble = readonly [name: string, disturb: (world: World) => void]

/** One of ten servers is in trouble, from the fifth second on. */
const TROUBLES: readonly Trouble[] = [
  [
    'ten times slower',
    (world) =>
      world.at(5, () => {
        world.servers[0]!.slowness = 10
      })
  ],
  [
    'takes calls and never answers',
    (world) =>
      world.at(5, () => {
        world.servers[0]!.hangs = true
      })
  ],
  ['dies', (world) => world.at(5, () => world.servers[0]!.die())],
  [
    'dies for half a second, again and again',
    (world) => {
      for (let second = 5; second < 35; second++) {
        world.at(second, () => world.servers[0]!.die())
        world.at(second + 0.5, () => world.servers[0]!.comeBack())
      }
    }
  ]
]

const TEN = { ...BASE, servers: 10, clients: 20, load: 0.5, seconds: 35, warmup: 5 } as const

export function trouble(): Table {
  const choices: readonly Choice[] = ['ours', 'ours, nobody ejected', 'round robin', 'random']
  const rows = TROUBLES.flatMap(([name, disturb]) =>
    choices.map((choice) => {
      const worlds = runs({ ...TEN, choice }, disturb)
      return [
        name,
        choice,
        percent(worlds, (world) => world.failureShare),
        `${shown(worlds, (world) => world.percentile(0.5))} ms`,
        `${shown(worlds, (world) => world.percentile(0.99))} ms`
      ]
    })
  )
  return { head: ['one of ten servers …', 'choice', 'failed', 'p50', 'p99'], rows }
}

/** Calls that fail while one of ten servers hangs. */
export function hangingCurves(): Curve[] {
  return (['ours', 'ours, nobody ejected', 'round robin'] as const).map((name) => {
    const world = new World({ ...TEN, choice: name, load: 0.7 })
    TROUBLES[1]![1](world)
    return { name, points: world.run().curve(({ failed }) => failed) }
  })
}

/** Servers die one after the other for a second, as a rolling restart without draining would have it. */
export function restarts(): Table {
  const restart = (world: World) =>
    world.servers.forEach((server, index) => {
      world.at(5 + 2 * index, () => server.die())
      world.at(6 + 2 * index, () => server.comeBack())
    })
  const rows = (['ours', 'none', 'three at once'] as const).map((retries) => {
    const worlds = runs({ ...TEN, retries }, restart)
    return [
      retries,
      shown(worlds, (world) => world.failures),
      `${shown(worlds, (world) => world.percentile(0.99))} ms`,
      shown(worlds, (world) => world.attemptsPerCall, 3)
    ]
  })
  return { head: ['retries', 'failed calls', 'p99', 'attempts a call'], rows }
}

/** Twice what the servers can do, from the fifth to the fifteenth second; they refuse what they have no place for. */
const FLOOD = {
  ...BASE,
  servers: 10,
  clients: 20,
  server: { work: 10, limit: 20 },
  load: (second: number) => (second >= 5 && second < 15 ? 2 : 0.7),
  seconds: 25,
  warmup: 5
} as const

const RETRIES: readonly Retries[] = ['ours', 'none', 'three at once']

export function flood(): Table {
  const rows = RETRIES.map((retries) => {
    const worlds = runs({ ...FLOOD, retries })
    return [
      retries,
      percent(worlds, (world) => world.goodput(6, 15)),
      shown(worlds, (world) => world.attemptsPerCall, 2),
      `${shown(worlds, (world) => world.percentile(0.99))} ms`
    ]
  })
  return { head: ['retries', 'of the capacity, under the flood', 'attempts a call', 'p99'], rows }
}

export function floodCurves(): Curve[] {
  return RETRIES.map((name) => ({
    name,
    points: new World({ ...FLOOD, retries: name }).run().curve(({ attempts }) => attempts)
  }))
}

/** All callers come at once, with a second of work for all servers, beside a steady half of the load. */
export function coldStart(): Table {
  const clients = 1_000
  const rows = ([Number.POSITIVE_INFINITY, 100, 20] as const).flatMap((limit) =>
    RETRIES.map((retries) => {
      const options = { ...BASE, servers: 10, clients, server: { work: 10, limit }, load: 0.5, retries }
      const worlds = runs({ ...options, seconds: 10, warmup: 0 }, (world) => world.burst(clients))
      return [
        limit === Number.POSITIVE_INFINITY ? 'none' : `${limit} a server`,
        retries,
        percent(worlds, (world) => world.failureShare),
        shown(worlds, (world) => world.attemptsPerCall, 2),
        `${shown(worlds, (world) => world.percentile(0.99))} ms`
      ]
    })
  )
  return { head: ['limit', 'retries', 'failed', 'attempts a call', 'p99'], rows }
}

/** A server that was away: how long until it is given a call, and until it has its share. */
export function comingBack(): Table {
  const rows = [1, 10, 60].map((away) => {
    const found: number[] = []
    const fair: number[] = []
    for (const seed of SEEDS) {
      const world = new World({ ...TEN, seconds: 5 + away + 60, seed })
      const server = world.servers[0]!
      const back = 5 + away
      let before = 0
      world.at(5, () => server.die())
      world.at(back, () => {
        server.comeBack()
        before = server.taken
      })
      // Ten times a second: has it come, and does it get half of what each of ten gets?
      let last = 0
      let foundAt: number | undefined
      let fairAt: number | undefined
      for (let tick = 1; tick < 600; tick++)
        world.at(back + tick / 10, () => {
          if (server.taken > before) foundAt ??= tick / 10
          const share = ((server.taken - last) * BASE.server.work) / 100 / TEN.load
          last = server.taken
          if (foundAt !== undefined && share >= 0.5) fairAt ??= tick / 10
        })
      world.run()
      found.push(foundAt ?? Number.NaN)
      fair.push(fairAt ?? Number.NaN)
    }
    return [`${away} s`, `${median(found).toFixed(1)} s`, `${median(fair).toFixed(1)} s`]
  })
  return { head: ['away for', 'first call after', 'half of its share after'], rows }
}
