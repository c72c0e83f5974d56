import js from '@eslint/js';
import jupyter from '@jupyter/eslint-plugin';
import prettier from 'eslint-plugin-prettier/recommended';
import globals from 'globals';
import typescript from 'typescript-eslint';

export default typescript.config(
  { ignores: ['lib', 'node_modules', '*.config.*'] },
  js.configs.recommended,
  ...typescript.configs.recommended,
  ...[jupyter.configs?.recommended].flat().filter(Boolean),
  prettier,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.jest } },
    rules: {
      // What the server answers is checked against its OpenAPI file there; notebooks and cards are open-ended here.
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unused-vars': ['warn', { args: 'none', caughtErrors: 'none' }],
      '@typescript-eslint/naming-convention': [
        'error',
        { selector: 'interface', format: ['PascalCase'], custom: { regex: '^I[A-Z]', match: true } }
      ],
      // The panel is seen at once, and notebooks of attempts are decorated as they open: there is nothing to put off.
      'jupyter/prefer-lazy-imports': 'off',
      curly: ['error', 'all'],
      eqeqeq: 'error',
      'prefer-arrow-callback': 'error'
    }
  }
);
