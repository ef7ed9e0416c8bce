/** Code in Go for the page's `.proto`, by Go's own generators. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  FileDescriptorSetSchema
} from '@bufbuild/protobuf/wkt'
import type { Proto } from '@elysia-microservices/protobuf'

/** Go's own package manager fetches this version. */
export const PROTOBUF = 'google.golang.org/protobuf'
export const PROTOBUF_VERSION = 'v1.36.12'
export const MODULE = 'example.com/shop'
const GENERATED = `${MODULE}/gen/shop/v1`

/** Runs a generator of code, as `buf generate` and `protoc` do. */
export function generateGo(folder: string, proto: Proto, generator: string): void {
  const { file } = fromBinary(FileDescriptorSetSchema, proto.descriptors())
  const own = file.filter(({ package: name }) => name === 'shop.v1').map(({ name }) => name)
  const mapped = own.map((name) => `M${name}=${GENERATED};shopv1`)
  const request = create(CodeGeneratorRequestSchema, {
    fileToGenerate: own,
    parameter: [...mapped, `module=${MODULE}`].join(','),
    protoFile: file
  })
  const input = toBinary(CodeGeneratorRequestSchema, request)
  const { stdout, stderr } = spawnSync('go', ['run', generator], { cwd: folder, input })
  const answer = fromBinary(CodeGeneratorResponseSchema, new Uint8Array(stdout))
  assert.ok(answer.error === '' && answer.file.length > 0, answer.error || String(stderr))
  for (const { name, content } of answer.file) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
}
