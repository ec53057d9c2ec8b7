import { measureSellers } from './sellers.ts'

for (const row of await measureSellers()) console.log(row.what.padEnd(56), row.figure.padEnd(14), row.beside)
process.exit(0)
