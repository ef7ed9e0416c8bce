/** Fields of proto3 that know whether they were sent although their file does not say `optional`. */
import type { DescField } from '@bufbuild/protobuf'
import { FeatureSet_FieldPresence, type FieldDescriptorProto } from '@bufbuild/protobuf/wkt'

const made = new WeakSet<FieldDescriptorProto>()

/** Makes a field know whether it was sent. */
export function makeOptional(field: FieldDescriptorProto): void {
  field.proto3Optional = true
  made.add(field)
}

/** Whether a field has no presence in its file: one that was not sent has its default. */
export function isImplicit({ presence, proto }: DescField): boolean {
  return presence === FeatureSet_FieldPresence.IMPLICIT || made.has(proto)
}

/** Whether its file says that a field of proto3 is `optional`. */
export function isOptional({ proto }: DescField): boolean {
  return proto.proto3Optional && !made.has(proto)
}

/** Whether a value counts as not sent because it is the default. */
export function dropsDefaults({ presence }: DescField): boolean {
  return presence === FeatureSet_FieldPresence.IMPLICIT
}
