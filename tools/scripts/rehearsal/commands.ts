/**
 * Runs the commands of a rehearsal. Each has a log of its own, and is ended together with all processes that it has
 * started.
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { sleep, spawn } from 'bun'

/** The folder, environment and log of commands. */
export interface Place {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  /** The file to which all output is appended. */
  readonly log: string
}

export type Command = readonly string[]

/** The time limit of a command in seconds. */
const LIMIT = 600
/** How many characters from the end of the output a failure shows. */
const SHOWN = 1_500

/**
 * Runs a command to its end. @returns its output on stdout @throws {Error} the command failed; the message has the
 * end of its output
 */
export async function run(command: Command, place: Place): Promise<string> {
  const started = start(command, place)
  const timer = setTimeout(() => started.kill('SIGKILL'), LIMIT * 1_000)
  const code = await started.ended
  clearTimeout(timer)
  started.kill('SIGKILL')
  if (code === 0) return started.stdout()
  throw new Error(`\`${command.join(' ')}\` ended with ${code}: ${started.output().trim().slice(-SHOWN)}`)
}

/** A program that runs in the background. */
export interface Started {
  /** The exit code, once the program has ended and all its output has arrived. */
  readonly ended: Promise<number>
  stdout(): string
  /** The output on stdout and stderr. */
  output(): string
  /** Sends a signal to the program and to all processes that it has started. */
  kill(signal: NodeJS.Signals): void
}

/** Starts a command in a process group of its own. */
export function start(command: Command, { folder, env, log }: Place): Started {
  mkdirSync(dirname(log), { recursive: true })
  appendFileSync(log, `$ ${command.join(' ')}\n`)
  const child = spawn([...command], {
    cwd: folder,
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    detached: true
  })
  let stdout = ''
  let output = ''
  const read = async (stream: ReadableStream<Uint8Array>, isStdout: boolean) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      const text = decoder.decode(chunk, { stream: true })
      appendFileSync(log, text)
      output += text
      if (isStdout) stdout += text
    }
  }
  const outputs = Promise.all([read(child.stdout, true), read(child.stderr, false)])
  return {
    // A process that a killed program has started may keep the outputs open.
    ended: child.exited.then(async (code) => {
      await Promise.race([outputs, sleep(2_000)])
      return code
    }),
    stdout: () => stdout,
    output: () => output,
    kill(signal) {
      try {
        process.kill(-child.pid, signal)
      } catch {
        // The program has ended by itself.
      }
    }
  }
}

/** Waits until a condition holds. @throws {Error} the time is over, or the program has ended */
export async function until(what: string, holds: () => Promise<boolean>, program?: Started): Promise<void> {
  let isOver = false
  void program?.ended.then(() => {
    isOver = true
  })
  for (const end = Date.now() + LIMIT * 1_000; Date.now() < end; await sleep(100)) {
    if (await holds().catch(() => false)) return
    if (isOver) throw new Error(`No ${what}, since the program has ended: ${program?.output().slice(-SHOWN)}`)
  }
  throw new Error(`No ${what} within ${LIMIT} s: ${program?.output().slice(-SHOWN)}`)
}
