/** Google's own compiler reads random files, and those that are written for random schemas, as we do. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { create, fromBinary, toJson } from '@bufbuild/protobuf'
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema
} from '@bufbuild/protobuf/wkt'
import { isMissing } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { serviceProto } from './service-proto.ts'
import { protoOfText } from './testing/of-text.ts'
import { randomProto } from './testing/random-proto.ts'
import { randomSchema } from './testing/random-schema.ts'

const run = promisify(execFile)
const PACKAGE = 'grpcio-tools==1.85.1'
/** Kept between runs; git ignores it. */
const environment = fileURLToPath(new URL('../dist/protoc', import.meta.url))
const FILES = 60

const hasPython = spawnSync('python3', ['-c', 'import venv, ensurepip']).status === 0

if (
  !isMissing("random files through Google's compiler", hasPython ? undefined : 'Python with venv (python3)')
)
  describe("Google's compiler", { timeout: 600_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'protoc-'))
    const python = join(environment, 'bin/python')
    after(() => rmSync(folder, { recursive: true, force: true }))
    let prepared: Promise<void> | undefined
    /** Fetches the compiler, in the first run. */
    async function prepare(): Promise<void> {
      const marker = join(environment, PACKAGE)
      if (existsSync(marker)) return
      await run('python3', ['-m', 'venv', '--clear', environment])
      await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', PACKAGE])
      writeFileSync(marker, '')
    }

    /** The descriptors that protoc makes of several files, by their names. */
    async function compiled(texts: readonly string[]): Promise<Map<string, FileDescriptorProto>> {
      prepared ??= prepare()
      await prepared
      const names = texts.map((_, index) => `file-${index}.proto`)
      for (const [index, text] of texts.entries()) {
        // Files of one run must not define the same names.
        writeFileSync(join(folder, names[index] as string), text)
      }
      const all = new Map<string, FileDescriptorProto>()
      for (const name of names) {
        const out = join(folder, `${name}.binpb`)
        await run(python, ['-m', 'grpc_tools.protoc', `-I${folder}`, `--descriptor_set_out=${out}`, name], {
          cwd: folder
        })
        const [file] = fromBinary(FileDescriptorSetSchema, readFileSync(out)).file
        all.set(name, file as FileDescriptorProto)
      }
      return all
    }

    it('reads random files as we do', async () => {
      const texts = fc.sample(randomProto, FILES).map(({ text }) => text)
      const theirs = [...(await compiled(texts)).values()]
      for (const [index, text] of texts.entries()) {
        const proto = await protoOfText(text)
        const ours = fromBinary(FileDescriptorSetSchema, proto.descriptors()).file.at(-1)
        assert.deepEqual(
          plain(ours as FileDescriptorProto),
          plain(theirs[index] as FileDescriptorProto),
          text
        )
      }
    })

    it('reads the files of random schemas as they are meant', async () => {
      const services = fc
        .sample(fc.tuple(randomSchema, randomSchema), FILES)
        .map(([{ schema: data }, { schema: old }]) => {
          const described = (schema: Record<string, unknown>) => ({
            name: 'random',
            handlers: [
              {
                kind: 'message' as const,
                patterns: [{ kind: 'exact', pattern: 'try' }],
                data: schema,
                idempotent: true
              }
            ]
          })
          return serviceProto(described(data), { numbers: serviceProto(described(old)).numbers })
        })
      const theirs = [...(await compiled(services.map(({ text }) => text))).values()]
      for (const [index, service] of services.entries()) {
        const ours = fromBinary(FileDescriptorSetSchema, service.descriptors()).file.at(-1)
        assert.deepEqual(
          plain(ours as FileDescriptorProto),
          plain(theirs[index] as FileDescriptorProto),
          service.text
        )
      }
    })
  })

/** A descriptor without what may be said in two ways: the file's name, and the packing that is the default. */
function plain(file: FileDescriptorProto): unknown {
  const copy = fromJsonCopy(file)
  copy['name'] = ''
  return JSON.parse(JSON.stringify(copy), (name, value: unknown) => {
    if (name === 'packed' && value === true) return undefined
    if (/^(?:client|server)Streaming$/.test(name) && value === false) return undefined
    if (name === 'options' && Object.keys(Object(value) as object).length === 0) return undefined
    return value
  })
}

function fromJsonCopy(file: FileDescriptorProto): Record<string, unknown> {
  return toJson(FileDescriptorProtoSchema, create(FileDescriptorProtoSchema, file)) as Record<string, unknown>
}
