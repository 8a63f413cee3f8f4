# Template of a Homebrew formula; docs/releasing.md says how to fill it in.
class Sessionbrowse < Formula
  include Language::Python::Virtualenv

  desc "Browse, search and resume the sessions of coding agents in a terminal"
  homepage "PROJECT_PAGE"
  url "SOURCE_ARCHIVE"
  sha256 "SHA256_OF_SOURCE_ARCHIVE"
  license "MIT"

  depends_on "rust" => :build # watchfiles is compiled from source
  depends_on "python@3.13"

  def install
    virtualenv_install_with_resources
    man1.install_symlink libexec/"share/man/man1/sessionbrowse.1"
    generate_completions_from_executable(bin/"sessionbrowse", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sessionbrowse --version")
    assert_equal "[]", shell_output("#{bin}/sessionbrowse list --json").strip
  end
end
