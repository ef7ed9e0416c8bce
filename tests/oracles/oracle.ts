/** Looks for differences between what we do and what should be done, from seed to seed. */
import { Random } from '../lives/random.ts'
import { shrunk } from './shrink.ts'

/** Makes random cases, and says what is wrong with one. A case is plain data, so it can be made smaller and be kept. */
export interface Oracle<Case> {
  readonly name: string
  imagine(random: Random): Case
  /** @returns what is wrong, most important first; an empty list: nothing */
  judge(given: Case): Promise<readonly string[]>
  /** The case as a program that shows what is wrong. */
  program(given: Case): string
  /** Ends what the oracle has started. */
  close?(): Promise<void>
  /** Says what an oracle has found out about itself, such as rules that applied to no case. */
  verdict?(cases: number): readonly string[]
}

/** An oracle, whatever its cases are. */
// biome-ignore lint/suspicious/noExplicitAny: cases go only from an oracle back to the same oracle
export type AnyOracle = Oracle<any>

export interface Hunt {
  readonly from: number
  readonly cases: number
  isOver(): boolean
  elapsed(): number
  /** Whether the first wrong case ends the hunt, and is not made small. */
  readonly isFirstEnough: boolean
  print(line: string): void
}

/** Tries many seeds. @returns the number of seeds that are wrong */
export async function hunt(oracle: AnyOracle, { from, cases, ...options }: Hunt): Promise<number> {
  const { isOver, elapsed, isFirstEnough, print } = options
  const kinds = new Map<string, number>()
  let found = 0
  let tried = 0
  for (let seed = from; seed < from + cases && !isOver(); seed++) {
    tried++
    const given = oracle.imagine(new Random(seed))
    const wrong = await oracle.judge(given)
    if (wrong.length === 0) continue
    found++
    const kind = kindOf(wrong)
    const times = (kinds.get(kind) ?? 0) + 1
    kinds.set(kind, times)
    if (isFirstEnough) {
      print(`${oracle.name}: seed ${seed}, ${Math.round(elapsed())} ms: ${wrong[0]}`)
      break
    }
    // The first of its kind tells enough, and making it small takes long.
    if (times === 1) await report(oracle, given, seed, print)
  }
  for (const line of (found === 0 && oracle.verdict?.(tried)) || []) {
    found++
    print(`${oracle.name}: ${line}`)
  }
  print(
    `${oracle.name}: ${tried} cases from seed ${from}, ${found} wrong, ${Math.round(elapsed() / 1_000)} s`
  )
  for (const [kind, times] of kinds) print(`  ${times} x ${kind}`)
  return found
}

/** Tries one seed, or one case that was kept. @returns how many are wrong */
export async function replay(
  oracle: AnyOracle,
  given: unknown,
  print: (line: string) => void
): Promise<number> {
  const isSeed = typeof given === 'number'
  const one: unknown = isSeed ? oracle.imagine(new Random(given)) : given
  if ((await oracle.judge(one)).length === 0) return 0
  await report(oracle, one, isSeed ? given : undefined, print)
  return 1
}

async function report(
  oracle: AnyOracle,
  given: unknown,
  seed: number | undefined,
  print: (line: string) => void
): Promise<void> {
  const kind = kindOf(await oracle.judge(given))
  const small = await shrunk(given, async (smaller) => {
    const wrong = await oracle.judge(smaller)
    return wrong.length > 0 && kindOf(wrong) === kind
  })
  print(`${oracle.name}: ${seed === undefined ? 'a kept case' : `seed ${seed}`}:`)
  for (const line of (await oracle.judge(small)).slice(0, 4)) print(`  ${line}`)
  print(`  ${JSON.stringify(small)}`)
  print(oracle.program(small).replaceAll(/^/gm, '    '))
}

/** The kind of a difference: its text without what depends on the case. Cases of one kind have probably one cause. */
function kindOf([first = '']: readonly string[]): string {
  return first.slice(0, first.indexOf(':') === -1 ? 80 : first.indexOf(':'))
}
