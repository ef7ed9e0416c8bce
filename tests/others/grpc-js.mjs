export { default as grpc } from '@grpc/grpc-js'
