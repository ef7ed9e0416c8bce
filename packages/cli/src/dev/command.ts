/** `elysia-microservices dev`: runs all services of a folder until it is told to stop. */
import { parseArgs } from 'node:util'
import { nearest, OptionError } from '@elysia-microservices/transport/kit'
import { EXIT } from '../exit-codes.ts'
import { openBrowser } from './browser.ts'
import type { Plan } from './config.ts'
import { findPlan } from './find.ts'
import { type LineOutput, Lines, usesColours } from './lines.ts'
import { System } from './system.ts'

/** The terminal that the command runs in. */
export interface DevTerminal {
  readonly output: LineOutput & { on(event: 'error', listener: () => void): unknown }
  readonly isTerminal: boolean
}

const OPTIONS = {
  only: { type: 'string' },
  'no-page': { type: 'boolean', default: false },
  open: { type: 'boolean', default: false },
  config: { type: 'string' }
} as const

/** Signals that end it. Of a terminal that is closed it is SIGHUP. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Milliseconds in which a second signal is the same one: npm passes on the Ctrl-C that the terminal sends, too. */
const SAME = 500

/**
 * Runs all services.
 * @param args of the command line, behind `dev`
 * @returns what the process is to end with
 * @throws {OptionError} the command line or the configuration is not what it must be, or something is missing
 */
export async function dev(args: readonly string[], { output, isTerminal }: DevTerminal): Promise<number> {
  const { values, positionals } = parse(args)
  if (process.platform === 'win32')
    throw new OptionError('dev', 'dev needs process groups, which Windows has not: run it in WSL')
  const found = await findPlan({ folder: process.cwd(), entries: positionals, config: values.config })
  const plan = chosen(found, values.only, values['no-page'])
  const hasColours = usesColours(isTerminal, process.env)
  const names = [...plan.services.map(({ name }) => name), ...plan.engines.keys()]
  const lines = new Lines(output, hasColours, names)
  const { FORCE_COLOR, NO_COLOR } = process.env
  const asksForColours = hasColours && FORCE_COLOR === undefined && NO_COLOR === undefined
  // Programs write into a pipe, and would leave colours out.
  const system = new System(plan, lines, asksForColours ? { FORCE_COLOR: '1' } : {}, (page) => {
    // Without a terminal nobody looks.
    if (values.open && isTerminal && page !== undefined) openBrowser(page)
  })
  const end = ended(system, lines, output)
  try {
    await system.start()
  } catch (error) {
    await system.stop()
    end.forget()
    throw error
  }
  return end.code
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    throw new OptionError('arguments', `${(error as Error).message}; see --help`)
  }
}

/** The part of a plan that is asked for. */
function chosen(plan: Plan, only: string | undefined, hasNoPage: boolean): Plan {
  const pagePort = hasNoPage ? undefined : plan.pagePort
  if (only === undefined) return { ...plan, pagePort }
  const known = plan.services.map(({ name }) => name)
  const wanted = only.split(',').map((name) => name.trim())
  for (const name of wanted) {
    if (known.includes(name)) continue
    const near = nearest(name, known)
    const hint = near === undefined ? `there are ${known.join(', ')}` : `did you mean ${near}?`
    throw new OptionError('--only', `--only: there is no service ${name}; ${hint}`)
  }
  return { ...plan, pagePort, services: plan.services.filter(({ name }) => wanted.includes(name)) }
}

/** The end of it: at a signal, or when nobody reads the lines any more. */
function ended(system: System, lines: Lines, output: DevTerminal['output']) {
  let first: number | undefined
  let forget = () => {}
  const code = new Promise<number>((resolve) => {
    const stop = (signal: string) => {
      const now = performance.now()
      if (first !== undefined) {
        if (now - first < SAME) return
        lines.say(`${signal} again: everything is killed`)
        return system.kill()
      }
      first = now
      lines.say(`${signal}: everything is ended; a second one kills`)
      void system.stop().then((killed) => {
        for (const name of killed) lines.say(`${name} had to be killed: it did not end by itself`)
        if (killed.length === 0) lines.say('All have ended')
        resolve(killed.length === 0 ? EXIT.ok : EXIT.answer)
        // A signal that comes twice must not end it by the signal in its last moment.
        setTimeout(forget, SAME).unref()
      })
    }
    const listeners = SIGNALS.map((signal) => [signal, () => stop(signal)] as const)
    for (const [signal, listener] of listeners) process.on(signal, listener)
    forget = () => {
      for (const [signal, listener] of listeners) process.off(signal, listener)
    }
    let isClosed = false
    output.on('error', () => {
      if (isClosed) return
      isClosed = true
      lines.close()
      stop('The output is closed')
    })
  })
  return { code, forget: () => forget() }
}
