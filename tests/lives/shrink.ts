/** Makes a plan that breaks a promise as small as possible. */
import type { Plan, Step } from './plan.ts'

/** Most lives for making one plan smaller. */
const MOST = 150

/** @param breaks whether a plan still breaks a promise */
export async function shrunk(plan: Plan, breaks: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let left = MOST
  let best = plan
  const attempt = async (smaller: Plan) => {
    if (left-- <= 0 || !(await breaks(smaller))) return false
    best = smaller
    return true
  }
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; ) {
    let hasRemoved = false
    for (let at = 0; at < best.steps.length; ) {
      const steps = [...best.steps.slice(0, at), ...best.steps.slice(at + size)]
      if (await attempt({ ...best, steps })) hasRemoved = true
      else at += size
    }
    if (size === 1 && !hasRemoved) break
    if (!hasRemoved || size > 1) size = size === 1 ? 1 : Math.max(1, Math.floor(size / 2))
    if (left <= 0) break
  }
  const plain = {
    clients: 1,
    services: 1,
    hasOther: false,
    isLate: false,
    connections: 1,
    delay: 0,
    resume: false,
    lease: false,
    inFlight: 0,
    inFlightPerConnection: 0,
    ordered: false,
    every: false,
    transactional: false,
    begins: undefined,
    maxBytes: undefined,
    maxAge: undefined,
    timeout: 30_000
  }
  for (const [name, value] of Object.entries(plain)) {
    if (best.config[name as keyof typeof plain] === value) continue
    await attempt({ ...best, config: { ...best.config, [name]: value } })
  }
  for (let at = 0; at < best.steps.length; at++)
    for (const [name, values] of Object.entries(SMALLER))
      for (const value of values) {
        const step = best.steps[at] as Step & Record<string, unknown>
        if (typeof step[name] !== 'number' || (step[name] as number) <= value) continue
        const steps = best.steps.map((one, index) => (index === at ? { ...one, [name]: value } : one))
        if (await attempt({ ...best, steps: steps as Step[] })) break
      }
  return best
}

/** Simpler values of the fields of steps, the simplest first. */
const SMALLER = {
  at: [0],
  client: [0],
  times: [1, 2, 10],
  takes: [0, 1],
  values: [0, 1, 10],
  take: [1, 10],
  pause: [0, 1],
  failures: [0],
  delay: [0],
  wide: [0],
  size: [0, 2_000],
  for: [1, 100]
}
