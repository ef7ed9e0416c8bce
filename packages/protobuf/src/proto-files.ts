/** The services of some files, with the codecs of their messages. */
import type { DescFile, DescMethod, DescService, FileRegistry } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import type { Hints } from './codec/hints.ts'
import { Codecs } from './codec/message-codec.ts'
import { bytesOfFiles, type Files, registryOf, withPresence } from './descriptors/registry.ts'
import type { Shapes } from './options/shapes.ts'
import type { MessageCodec, Proto, ProtoMethod, ProtoService } from './proto.ts'

/** Knowledge of a service that its file does not have. */
export interface Ours {
  readonly hints: Hints
  /** The handlers by the paths of their methods. */
  readonly handlers: ReadonlyMap<string, Pick<ProtoMethod, 'pattern' | 'kind'>>
}

export class ProtoFilesOf implements Proto {
  /** The files whose services are offered. */
  readonly asked: readonly DescFile[]
  readonly shapes: Shapes
  readonly services: readonly ProtoService[]
  readonly #files: Files
  readonly #registry: FileRegistry
  readonly #codecs: Codecs
  readonly #ours: Ours | undefined
  readonly #methods: ReadonlyMap<string, ProtoMethod>

  /**
   * @param asked the names of the files whose services are offered; what they import only has messages
   * @param path names the option with the files, for errors
   * @param ours what the service says beyond the files, if they were made of a service
   */
  constructor(files: Files, asked: ReadonlySet<string>, shapes: Shapes, path: string, ours?: Ours) {
    this.#files = files
    this.#registry = registryOf(shapes.presence === 'sent' ? withPresence(files) : files, path)
    this.#codecs = new Codecs(this.#registry, shapes, ours?.hints)
    this.#ours = ours
    this.shapes = shapes
    this.asked = [...this.#registry.files].filter(({ proto }) => asked.has(proto.name))
    this.services = this.asked.flatMap(({ services }) => services.map((service) => this.#service(service)))
    this.#methods = new Map(
      this.services.flatMap(({ methods }) => methods.map((method) => [method.path, method]))
    )
  }

  method(path: string): ProtoMethod | undefined {
    return this.#methods.get(path.startsWith('/') ? path.slice(1) : path)
  }

  message(typeName: string): MessageCodec | undefined {
    const desc = this.#registry.getMessage(typeName)
    return desc && this.#codecs.of(desc)
  }

  descriptors(): Uint8Array<ArrayBuffer> {
    return bytesOfFiles(this.#files)
  }

  #service({ typeName, methods }: DescService): ProtoService {
    return { name: typeName, methods: methods.map((method) => this.#method(method)) }
  }

  #method({ name, parent, methodKind, idempotency, input, output }: DescMethod): ProtoMethod {
    const path = `${parent.typeName}/${name}`
    const noSideEffects = idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS
    return {
      service: parent.typeName,
      name,
      path,
      ...(this.#ours?.handlers.get(path) ?? { pattern: path, kind: 'message' }),
      clientStreams: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
      serverStreams: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
      noSideEffects,
      idempotent: noSideEffects || idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENT,
      input: this.#codecs.of(input),
      output: this.#codecs.of(output)
    }
  }
}
