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
  'no-open': { type: 'boolean', default: false },
  config: { type: 'string' }
} as const

/** The signals that end the command. A closed terminal sends SIGHUP. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/**
 * Milliseconds within which a second signal counts as the same one: npm passes Ctrl-C on, although the terminal has
 * sent it already.
 */
const SAME = 500

/**
 * Runs all services.
 * @param args the command line after `dev`
 * @returns the exit code of the process
 * @throws {OptionError} the command line or the configuration is invalid, or something is missing
 */
export async function dev(args: readonly string[], { output, isTerminal }: DevTerminal): Promise<number> {
  const { values, positionals } = parse(args)
  if (process.platform === 'win32')
    throw new OptionError('dev', 'dev needs process groups, which Windows does not have: run dev in WSL')
  const found = await findPlan({ folder: process.cwd(), entries: positionals, config: values.config })
  const plan = chosen(found, values.only, values['no-page'])
  const hasColours = usesColours(isTerminal, process.env)
  const names = [...plan.services.map(({ name }) => name), ...plan.engines.keys()]
  const lines = new Lines(output, hasColours, names)
  const { FORCE_COLOR, NO_COLOR } = process.env
  const asksForColours = hasColours && FORCE_COLOR === undefined && NO_COLOR === undefined
  // Programs write to a pipe, where they would not use colours unless they are told to.
  const system = new System(plan, lines, asksForColours ? { FORCE_COLOR: '1' } : {}, (page) => {
    // Without a terminal there is nobody who could look at the page.
    if (values.open && !values['no-open'] && isTerminal && page !== undefined) openBrowser(page)
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

/** The part of a plan that the user has asked for. */
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

/** Ends the command: after a signal, or when the output is closed. */
function ended(system: System, lines: Lines, output: DevTerminal['output']) {
  let first: number | undefined
  let forget = () => {}
  const code = new Promise<number>((resolve) => {
    const stop = (signal: string) => {
      const now = performance.now()
      if (first !== undefined) {
        if (now - first < SAME) return
        lines.say(`${signal} again: all programs are killed`)
        return system.kill()
      }
      first = now
      lines.say(`${signal}: all programs are stopped; a second signal kills them`)
      void system.stop().then((killed) => {
        for (const name of killed) lines.say(`${name} had to be killed: it did not end by itself`)
        if (killed.length === 0) lines.say('All have ended')
        resolve(killed.length === 0 ? EXIT.ok : EXIT.answer)
        // The listeners stay for a moment: a repeated signal must not kill the process in its last moment.
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
