/** Asks the user for the arguments that the command line has not given. */
import type { Readable, Writable } from 'node:stream'
import { confirm, isCancel, select, text } from '@clack/prompts'
import { refuseUnlessEmpty } from './folder.ts'
import { type Given, nameOf, type Options, type Runtime, type Transport } from './options.ts'

/** The terminal in which questions are asked. */
export interface Terminal {
  readonly input: Readable
  readonly output: Writable
}

/** Thrown when the user cancels a question. */
export class Canceled extends Error {}

/** The default answers. */
export interface Defaults {
  readonly folder: string
  readonly runtime: Runtime
  readonly transport: Transport
}

/** Asks for each missing argument. @throws {Canceled} the user cancels */
export async function ask(given: Given, defaults: Defaults, terminal: Terminal): Promise<Options> {
  const folder =
    given.folder ??
    answered(
      await text({
        ...terminal,
        message: 'Which folder?',
        placeholder: defaults.folder,
        defaultValue: defaults.folder,
        validate: (folder) => complaint(folder || defaults.folder)
      })
    )
  const runtime =
    given.runtime ??
    answered(
      await select<Runtime>({
        ...terminal,
        message: 'What runs it?',
        initialValue: defaults.runtime,
        options: [
          { value: 'bun', label: 'Bun' },
          { value: 'node', label: 'Node' },
          { value: 'deno', label: 'Deno' }
        ]
      })
    )
  const transport =
    given.transport ??
    answered(
      await select<Transport>({
        ...terminal,
        message: 'What carries messages?',
        initialValue: defaults.transport,
        options: [
          { value: 'tcp', label: 'TCP', hint: 'nothing else to run; durable events in a file' },
          { value: 'nats', label: 'NATS', hint: 'several machines, a NATS server between them' },
          { value: 'redis', label: 'Redis', hint: 'several machines, a Redis server between them' },
          { value: 'rabbitmq', label: 'RabbitMQ', hint: 'several machines, a RabbitMQ server between them' },
          { value: 'mqtt', label: 'MQTT', hint: 'several machines and devices, an MQTT server between them' },
          { value: 'kafka', label: 'Kafka', hint: 'several machines, a Kafka cluster between them' },
          { value: 'grpc', label: 'gRPC', hint: 'callers in other languages, nothing between the ends' }
        ]
      })
    )
  const web =
    given.web ??
    answered(await confirm({ ...terminal, message: 'With a web page (a live stream)?', initialValue: false }))
  return { folder, name: nameOf(folder), runtime, transport, web }
}

/**
 * Asks whether to install the packages of the project. Cancelling means no, because the project has already been
 * created.
 */
export async function wantsInstall(terminal: Terminal): Promise<boolean> {
  return (
    (await confirm({ ...terminal, message: "Install the project's packages?", initialValue: true })) === true
  )
}

function answered<Answer>(answer: Answer): Exclude<Answer, symbol> {
  if (isCancel(answer)) throw new Canceled()
  return answer as Exclude<Answer, symbol>
}

/** The reason why a folder cannot be used, in words; `undefined` if it can be used. */
function complaint(folder: string): string | undefined {
  try {
    nameOf(folder)
    refuseUnlessEmpty(folder)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
