/** Registers the codec `'shapes'` for every transport of this program. */
import { registerCodec } from './codec/codecs.ts'
import { shapesCodec } from './codec/shapes/shapes.ts'

registerCodec('shapes', shapesCodec.mimeType, () => shapesCodec)
