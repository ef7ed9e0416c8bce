/** An unhandled rejection is a bug: it ends the process, under every runtime. */
process.on('unhandledRejection', (error) => {
  console.error('Unhandled rejection:', error)
  process.exit(70)
})
