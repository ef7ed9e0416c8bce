export { Parser } from '@asyncapi/parser'
