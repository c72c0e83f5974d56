/** The model and what it says: pure modules, so no browser and no lab is needed. Types are tsc's to check. */
module.exports = {
  testEnvironment: 'node',
  roots: ['<rootDir>/src'],
  testMatch: ['**/*.spec.ts'],
  transform: {
    '\\.tsx?$': [
      'ts-jest',
      {
        diagnostics: false,
        tsconfig: { module: 'commonjs', target: 'ES2022', esModuleInterop: true, isolatedModules: true, jsx: 'react' }
      }
    ]
  }
};
